import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { claimsQuery, studiesQuery } from '../../api/queries.ts';
import { mosaicRows } from '../../model/mosaic.ts';
import { ClaimChart, ClaimEvidence, ClaimStanding } from '../../parts/claim-evidence.tsx';
import { Mosaic } from '../../parts/mosaic.tsx';
import { QueryResult } from '../../parts/query-states.tsx';

/** All claims of all documents; the selected one with the document's sentence, the chart and the run. */
export function ClaimMosaic() {
  const studies = useQuery(studiesQuery);
  const claims = useQuery(claimsQuery);
  const { claim = null } = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const rows = useMemo(
    () => mosaicRows(studies.data?.studies ?? [], claims.data?.claims ?? []),
    [studies.data, claims.data],
  );
  const entry = claims.data?.claims.find(({ id }) => id === claim);
  return (
    <section className="section" aria-labelledby="claims">
      <div className="section-head">
        <h2 id="claims">What the documents claim, and what holds here</h2>
        <Link to="/documents" className="small">
          All documents
        </Link>
      </div>
      <QueryResult query={claims} name="claims">
        {() => (
          <Mosaic
            rows={rows}
            selected={claim}
            onSelect={(id) =>
              void navigate({
                search: id === claim ? {} : { claim: id },
                replace: true,
                resetScroll: false,
              })
            }
          />
        )}
      </QueryResult>
      {entry === undefined ? null : (
        <article className="claim-open panel" aria-label={`Claim ${entry.id}`}>
          <div className="claim-head">
            <h3>
              <span className="tag">{entry.id}</span> {entry.title}
            </h3>
            <ClaimStanding entry={entry} />
          </div>
          <div className="claim-open-body">
            <div className="claim-open-text">
              <ClaimEvidence entry={entry} />
              <Link
                to="/documents/$studyId"
                params={{ studyId: entry.study }}
                hash={entry.id}
                className="small"
              >
                {entry.id} in its document
              </Link>
            </div>
            <ClaimChart entry={entry} />
          </div>
        </article>
      )}
    </section>
  );
}
