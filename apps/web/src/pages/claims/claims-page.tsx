import type { ClaimLedgerEntry, StudyInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId } from 'react';
import { claimsQuery, studiesQuery } from '../../api/queries.ts';
import { formatAgo } from '../../model/format.ts';
import { describeGrade } from '../../model/verdicts.ts';
import { VerdictBadge } from '../../parts/badges.tsx';
import { ClaimClauses } from '../../parts/claim-clauses.tsx';
import { ClaimFigure } from '../../parts/claim-figure.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';

/** The ledger of claims: the statement of the document, and the best verdict from this machine. */
export function ClaimsPage() {
  useTitle('Claims');
  const studies = useQuery(studiesQuery);
  const claims = useQuery(claimsQuery);
  return (
    <>
      <header className="page-head">
        <h1>Claims</h1>
        <p className="lead">
          The statements of the documents that can be tested, each with the verdict that has the best evidence
          on this machine: final before provisional, full scale before quick, more repeats before fewer,
          undisturbed before disturbed, then the newest. The lab compares ratios and slopes, not absolute
          numbers from other hardware. A claim that does not hold here is a finding, not an error.
        </p>
      </header>
      <QueryResult query={studies} name="studies">
        {(registered) => (
          <QueryResult query={claims} name="claims">
            {(ledger) =>
              registered.studies.map((study) => (
                <StudyClaims
                  key={study.id}
                  study={study}
                  claims={ledger.claims.filter((entry) => entry.study === study.id)}
                />
              ))
            }
          </QueryResult>
        )}
      </QueryResult>
    </>
  );
}

/** A document, its claims, and what of it no scenario measures. */
function StudyClaims({ study, claims }: { study: StudyInfo; claims: readonly ClaimLedgerEntry[] }) {
  const { document, notMeasured, notBuilt } = study;
  const heading = useId();
  return (
    <section className="section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>{document.title}</h2>
        <p className="small muted">
          {document.kind}, {document.date}
        </p>
      </div>
      <p>{document.about}</p>
      <ul className="claims panel" aria-label={`Claims of ${document.title}`}>
        {claims.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ul>
      <Remarks
        title="Not measured"
        remarks={notMeasured.map(({ statement, reason }) => ({ what: statement, remark: reason }))}
      />
      <Remarks
        title="Not built"
        remarks={notBuilt.map(({ feature, instead }) => ({ what: feature, remark: instead }))}
      />
    </section>
  );
}

function Remarks({ title, remarks }: { title: string; remarks: { what: string; remark: string }[] }) {
  if (remarks.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul>
        {remarks.map(({ what, remark }) => (
          <li key={what}>
            {what}: <span className="muted">{remark}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** "holds, holds, inconclusive, …" */
function verdictHistory({ history, judged }: ClaimLedgerEntry): string {
  const words = history
    .slice(0, verdictsShown)
    .map(
      ({ verdict, provisional }) => `${verdict.replaceAll('-', ' ')}${provisional ? ' (provisional)' : ''}`,
    );
  return `${words.join(', ')}${judged > verdictsShown ? ', …' : ''}`;
}

const verdictsShown = 6;

function Entry({ entry }: { entry: ClaimLedgerEntry }) {
  const { last } = entry;
  return (
    <li className="claim">
      <div className="claim-head">
        <h3>
          <span className="tag">{entry.id}</span> {entry.title}
        </h3>
        {last === null ? (
          <span className="badge">Not judged yet</span>
        ) : (
          <VerdictBadge verdict={last.verdict} provisional={last.provisional} />
        )}
      </div>
      <p className="muted">
        {entry.document} <span className="small">({describeGrade(entry.grade)})</span>
      </p>
      {entry.weak === null ? null : <p className="small muted">Weak: {entry.weak}</p>}
      {last === null ? null : (
        <>
          <ClaimFigure claim={last} />
          <p>{last.reason}</p>
          <ClaimClauses clauses={last.clauses} />
          <p className="small muted">
            {last.recordedOn === null
              ? ''
              : `Recorded on ${last.recordedOn}, not measured on this machine yet: `}
            {last.runKept ? (
              <Link to="/runs/$runId" params={{ runId: last.runId }}>
                {last.scenarioId}, {last.scale}
              </Link>
            ) : (
              `${last.scenarioId}, ${last.scale}`
            )}
            , {formatAgo(last.endedAtMs, Date.now())}
            {entry.judged > 1 ? `. Judged ${entry.judged} times; newest first: ${verdictHistory(entry)}` : ''}
          </p>
        </>
      )}
    </li>
  );
}
