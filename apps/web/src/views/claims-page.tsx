import type { ClaimLedgerEntry } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { claimsQuery } from '../api/queries.ts';
import { formatAgo } from '../model/format.ts';
import { gradeInWords } from '../model/verdicts.ts';
import { VerdictBadge } from './badges.tsx';
import { ClaimFigure } from './claim-figure.tsx';
import { Answered } from './page-states.tsx';
import { useTitle } from './use-title.ts';

/** The ledger: what the document says, and what this machine last said about it. */
export function ClaimsPage() {
  useTitle('Claims');
  const claims = useQuery(claimsQuery);
  return (
    <>
      <header className="page-head">
        <h1>Claims</h1>
        <p className="lead">
          What the white paper says, sentence by sentence, and what the newest finished run on this machine
          found. Shapes are compared, ratios and slopes, rather than another machine’s absolute figures. A
          claim that does not hold here is a finding.
        </p>
      </header>
      <Answered query={claims} what="claims">
        {(data) => (
          <ul className="claims panel" aria-label="Claims">
            {data.claims.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </ul>
        )}
      </Answered>
    </>
  );
}

/** "holds, holds, inconclusive, …" */
function verdictsInWords({ history, judged }: ClaimLedgerEntry): string {
  const words = history.slice(0, verdictsShown).map(({ verdict }) => verdict.replaceAll('-', ' '));
  return `${words.join(', ')}${judged > verdictsShown ? ', …' : ''}`;
}

const verdictsShown = 6;

function Entry({ entry }: { entry: ClaimLedgerEntry }) {
  const { last } = entry;
  return (
    <li className="claim">
      <div className="claim-head">
        <h2>
          <span className="tag">{entry.id}</span> {entry.title}
        </h2>
        {last === null ? (
          <span className="badge">Not judged yet</span>
        ) : (
          <VerdictBadge verdict={last.verdict} />
        )}
      </div>
      <p className="muted">
        {entry.document} <span className="small">({gradeInWords(entry.grade)})</span>
      </p>
      {last === null ? null : (
        <>
          <ClaimFigure claim={last} />
          <p>{last.reason}</p>
          <p className="small muted">
            {last.runKept ? (
              <Link to="/runs/$runId" params={{ runId: last.runId }}>
                {last.scenarioId}, {last.scale}
              </Link>
            ) : (
              `${last.scenarioId}, ${last.scale}`
            )}
            , {formatAgo(last.endedAtMs, Date.now())}
            {entry.judged > 1
              ? `. Judged ${entry.judged} times; newest first: ${verdictsInWords(entry)}`
              : ''}
          </p>
        </>
      )}
    </li>
  );
}
