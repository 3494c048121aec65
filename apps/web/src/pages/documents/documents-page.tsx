import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { claimsQuery, studiesQuery } from '../../api/queries.ts';
import { countCells, describeCellCount, mosaicRows } from '../../model/mosaic.ts';
import { Mosaic } from '../../parts/mosaic.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** All documents of the lab, with what they claim and what was found. */
export function DocumentsPage() {
  useTitle('Documents');
  const studies = useQuery(studiesQuery);
  const claims = useQuery(claimsQuery);
  const navigate = useNavigate({ from: '/documents' });
  return (
    <>
      <header className="page-head">
        <h1>Documents</h1>
        <p className="lead">
          What was published about queues, taken apart into claims that a run can check. The lab compares
          ratios and slopes, not absolute numbers from other hardware. A claim that does not hold is a
          finding, not an error.
        </p>
      </header>
      <QueryResult query={studies} name="documents">
        {(registered) => (
          <QueryResult query={claims} name="claims">
            {(ledger) => {
              const rows = mosaicRows(registered.studies, ledger.claims);
              const studyOf = (claim: string) => ledger.claims.find(({ id }) => id === claim)?.study ?? '';
              return (
                <>
                  <h2 className="visually-hidden">Claims</h2>
                  <Mosaic
                    rows={rows}
                    selected={null}
                    onSelect={(claim) =>
                      void navigate({
                        to: '/documents/$studyId',
                        params: { studyId: studyOf(claim) },
                        hash: claim,
                      })
                    }
                  />
                  <ul className="documents" aria-label="Documents">
                    {registered.studies.map(({ id, document }) => (
                      <li key={id} className="panel document">
                        <h2>
                          <Link to="/documents/$studyId" params={{ studyId: id }}>
                            {document.title}
                          </Link>
                        </h2>
                        {document.originalTitle === undefined ? null : (
                          <p className="small muted" lang={document.language}>
                            {document.originalTitle}
                          </p>
                        )}
                        <p className="small muted">
                          {document.kind}, {document.date}
                        </p>
                        <p>{document.about}</p>
                        <p className="small">
                          {countCells(rows.filter(({ study }) => study === id))
                            .filter(({ count }) => count > 0)
                            .map(describeCellCount)
                            .join(', ')}
                        </p>
                      </li>
                    ))}
                  </ul>
                </>
              );
            }}
          </QueryResult>
        )}
      </QueryResult>
    </>
  );
}
