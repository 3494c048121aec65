import type { ClaimLedgerEntry, ScenarioEntry, StudyInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { claimsQuery, scenariosQuery, studiesQuery } from '../../api/queries.ts';
import { documentNumbers } from '../../model/document-numbers.ts';
import { describeGrade } from '../../model/verdicts.ts';
import { ClaimEvidence, ClaimStanding } from '../../parts/claim-evidence.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { ScenarioCard } from '../../parts/scenario-card.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { DocumentTables } from './document-tables.tsx';

/** One document: where it is from, what it claims and where, its numbers beside ours, and what is not measured of it. */
export function DocumentPage() {
  const { studyId } = useParams({ from: '/documents/$studyId' });
  const studies = useQuery(studiesQuery);
  const claims = useQuery(claimsQuery);
  const scenarios = useQuery(scenariosQuery);
  const study = studies.data?.studies.find(({ id }) => id === studyId);
  useTitle(study?.document.title ?? 'Document');
  if (studies.data !== undefined && study === undefined)
    return (
      <header className="page-head">
        <h1>There is no document “{studyId}”</h1>
        <p>
          <Link to="/documents">All documents</Link>
        </p>
      </header>
    );
  return (
    <>
      {study === undefined ? <h1>Document</h1> : <DocumentHead study={study} />}
      <QueryResult query={claims} name="claims">
        {(ledger) => (
          <DocumentClaims
            claims={ledger.claims.filter((entry) => entry.study === studyId)}
            scenarios={(scenarios.data?.scenarios ?? []).filter(({ scenario }) => scenario.study === studyId)}
          />
        )}
      </QueryResult>
      {study === undefined ? null : (
        <>
          <DocumentTables tables={study.tables} />
          <Remarks
            title="Not measured"
            remarks={study.notMeasured.map(({ statement, reason }) => ({ what: statement, remark: reason }))}
          />
          <Remarks
            title="Not built"
            remarks={study.notBuilt.map(({ feature, instead }) => ({ what: feature, remark: instead }))}
          />
        </>
      )}
    </>
  );
}

function DocumentHead({ study: { document } }: { study: StudyInfo }) {
  return (
    <header className="page-head">
      <p className="small">
        <Link to="/documents">Documents</Link>
      </p>
      <h1>{document.title}</h1>
      <dl className="definitions">
        <div>
          <dt>Source</dt>
          <dd>{document.kind}</dd>
        </div>
        <div>
          <dt>Date</dt>
          <dd>{document.date}</dd>
        </div>
        {document.letter === undefined ? null : (
          <div>
            <dt>Its claims begin with</dt>
            <dd>{document.letter}</dd>
          </div>
        )}
      </dl>
      <p className="lead">{document.about}</p>
    </header>
  );
}

function DocumentClaims(props: { claims: readonly ClaimLedgerEntry[]; scenarios: readonly ScenarioEntry[] }) {
  const { claims, scenarios } = props;
  return (
    <>
      <section className="section" aria-labelledby="numbers">
        <h2 id="numbers">Its numbers beside ours</h2>
        <NumbersTable claims={claims} scenarios={scenarios} />
      </section>
      <section className="section" aria-labelledby="document-claims">
        <h2 id="document-claims">What it claims</h2>
        <ul className="claims panel" aria-label="Claims of the document">
          {claims.map((entry) => (
            <li key={entry.id} id={entry.id} className="claim">
              <div className="claim-head">
                <h3>
                  <span className="tag">{entry.id}</span> {entry.title}
                </h3>
                <ClaimStanding entry={entry} />
              </div>
              <ClaimEvidence entry={entry} />
            </li>
          ))}
        </ul>
      </section>
      {scenarios.length === 0 ? null : (
        <section className="section" aria-labelledby="document-scenarios">
          <h2 id="document-scenarios">Its scenarios</h2>
          <div className="split split-even">
            {scenarios.map((entry) => (
              <ScenarioCard key={entry.scenario.id} entry={entry} />
            ))}
          </div>
        </section>
      )}
    </>
  );
}

/** The quantity of each claim: what the document states of it, and what was measured here. */
function NumbersTable({ claims, scenarios }: Parameters<typeof DocumentClaims>[0]) {
  return (
    <ScrollX label="Numbers" framed>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Claim</th>
            <th scope="col">The document</th>
            <th scope="col">Where</th>
            <th scope="col" className="number">
              Here
            </th>
            <th scope="col">Of what</th>
            <th scope="col">Verdict</th>
          </tr>
        </thead>
        <tbody>
          {documentNumbers(claims, scenarios).map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <a href={`#${row.id}`}>{row.id}</a>
              </th>
              <td className="wrap">{row.stated}</td>
              <td>
                {row.where ?? ''} <span className="small muted">{describeGrade(row.entry.grade)}</span>
              </td>
              <td className="number">{row.here ?? '–'}</td>
              <td className="wrap small muted">{row.unit}</td>
              <td>
                <ClaimStanding entry={row.entry} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Remarks({ title, remarks }: { title: string; remarks: { what: string; remark: string }[] }) {
  if (remarks.length === 0) return null;
  return (
    <section className="section">
      <h2>{title}</h2>
      <ul className="remarks">
        {remarks.map(({ what, remark }) => (
          <li key={what}>
            {what}: <span className="muted">{remark}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
