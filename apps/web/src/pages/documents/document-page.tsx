import type { ClaimLedgerEntry, ScenarioEntry, StudyInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { claimsQuery, scenariosQuery, studiesQuery } from '../../api/queries.ts';
import { claimRanges, documentNumbers } from '../../model/document-numbers.ts';
import { describeGrade } from '../../model/verdicts.ts';
import { ClaimEvidence, ClaimStanding } from '../../parts/claim-evidence.tsx';
import { Quote } from '../../parts/document-words.tsx';
import { JumpLinks } from '../../parts/jump-links.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { ScenarioCard } from '../../parts/scenario-card.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { DocumentTables } from './document-tables.tsx';

/** One document: its source, its claims, its numbers beside ours, and what is not measured. */
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
      {study === undefined ? null : (
        <>
          <JumpLinks links={sectionsOf(study, scenarios.data?.scenarios ?? [])} />
          <QueryResult query={claims} name="claims">
            {(ledger) => (
              <DocumentClaims
                study={study}
                claims={ledger.claims.filter((entry) => entry.study === studyId)}
                scenarios={(scenarios.data?.scenarios ?? []).filter(
                  ({ scenario }) => scenario.study === studyId,
                )}
              />
            )}
          </QueryResult>
          <DocumentTables tables={study.tables} />
          <Remarks
            id="not-measured"
            title="Not measured"
            remarks={study.notMeasured.map(({ statement, reason }) => ({ what: statement, remark: reason }))}
          />
          <Remarks
            id="not-built"
            title="Not built"
            remarks={study.notBuilt.map(({ feature, instead }) => ({ what: feature, remark: instead }))}
          />
        </>
      )}
    </>
  );
}

/** The sections that the page has, for the links to them. */
const sectionsOf = (study: StudyInfo, scenarios: readonly ScenarioEntry[]) =>
  [
    { id: 'numbers', label: 'Its numbers beside ours', isThere: true },
    { id: 'document-claims', label: 'What it claims', isThere: true },
    {
      id: 'document-scenarios',
      label: 'Its scenarios',
      isThere: scenarios.some(({ scenario }) => scenario.study === study.id),
    },
    { id: 'document-tables', label: 'What it prints', isThere: study.tables.length > 0 },
    { id: 'not-measured', label: 'Not measured', isThere: study.notMeasured.length > 0 },
    { id: 'not-built', label: 'Not built', isThere: study.notBuilt.length > 0 },
  ].filter(({ isThere }) => isThere);

function DocumentHead({ study: { document, claims } }: { study: StudyInfo }) {
  return (
    <header className="page-head">
      <p className="small">
        <Link to="/documents">Documents</Link>
      </p>
      <h1>{document.title}</h1>
      {document.originalTitle === undefined ? null : (
        <p className="muted" lang={document.language}>
          {document.originalTitle}
        </p>
      )}
      <dl className="definitions">
        <div>
          <dt>Source</dt>
          <dd>{document.kind}</dd>
        </div>
        <div>
          <dt>Author</dt>
          <dd>{document.author}</dd>
        </div>
        <div>
          <dt>Date</dt>
          <dd>{document.date}</dd>
        </div>
        <div>
          <dt>Claims</dt>
          <dd>{claimRanges(claims)}</dd>
        </div>
        <div className="document-addresses">
          <dt>Addresses that it gives</dt>
          {document.addresses.length === 0 ? <dd>None</dd> : null}
          {document.addresses.map(({ title, address }) => (
            <dd key={address}>
              {title}: {address}
            </dd>
          ))}
        </div>
      </dl>
      <p className="lead">{document.about}</p>
    </header>
  );
}

function DocumentClaims(props: {
  study: StudyInfo;
  claims: readonly ClaimLedgerEntry[];
  scenarios: readonly ScenarioEntry[];
}) {
  const { study, claims, scenarios } = props;
  return (
    <>
      <section className="section" aria-labelledby="numbers">
        <h2 id="numbers">Its numbers beside ours</h2>
        <NumbersTable study={study} claims={claims} />
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

const numberColumns = [
  { label: 'Claim' },
  { label: 'Measured', isNumber: true },
  { label: 'Of what' },
  { label: 'Verdict' },
  { label: 'The document' },
  { label: 'Where' },
];

/** The quantity of each claim: the document's value, and the measured one, here or on the machine of a recorded run. */
function NumbersTable({ study, claims }: { study: StudyInfo; claims: readonly ClaimLedgerEntry[] }) {
  return (
    <ScrollX label="Numbers" framed>
      <table className="table">
        <TableHead columns={numberColumns} />
        <tbody>
          {documentNumbers(study.statements, claims).map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <a href={`#${row.id}`}>{row.id}</a>
              </th>
              <td className="number">{row.measured ?? '–'}</td>
              <td className="document-unit small muted">{row.unit}</td>
              <td>
                <ClaimStanding entry={row.entry} />
              </td>
              <td className="document-stated">
                <Quote statement={row.statement} language={study.document.language} />
              </td>
              <td className="document-stated">
                {row.statement.where} <span className="small muted">({describeGrade(row.entry.grade)})</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Remarks(props: { id: string; title: string; remarks: { what: string; remark: string }[] }) {
  const { id, title, remarks } = props;
  if (remarks.length === 0) return null;
  return (
    <section className="section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul className="remarks">
        {remarks.map(({ what, remark }) => (
          <li key={what}>
            {what.replace(/\.$/, '')}: <span className="muted">{remark}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
