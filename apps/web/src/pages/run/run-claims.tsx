import type { ClaimResult, RunStatus } from '@shardlab/contract';
import { isFinished } from '../../model/run-state.ts';
import { describeGrade, judgedOn } from '../../model/verdicts.ts';
import { VerdictBadge } from '../../parts/badges.tsx';
import { ClaimFigure } from '../../parts/claim-figure.tsx';
import { ClaimSlips } from '../../parts/claim-slips.tsx';
import { CodeText } from '../../parts/code-text.tsx';

/** The claims that a run tests, each with its value, its verdict and the reason; clause by clause they are on the board. */
export function RunClaims(props: {
  claims: readonly ClaimResult[];
  status: RunStatus;
  /** See `Judged`. */
  isRecorded: boolean;
}) {
  const { claims, status, isRecorded } = props;
  return (
    <section className="section" aria-labelledby="claims">
      <div className="section-head">
        <h2 id="claims">Claims</h2>
        {claims.length === 0 ? null : <p className="small muted">Judged {judgedOn(status)}</p>}
      </div>
      {claims.length === 0 ? (
        <p className="empty">
          {isFinished(status) ? 'This run judged no claims.' : 'This run has judged no claims so far.'}
        </p>
      ) : (
        <ul className="claims claims-pairs panel" aria-label="Claims">
          {claims.map((claim) => (
            <Claim key={claim.id} claim={claim} isRecorded={isRecorded} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Claim({ claim, isRecorded }: { claim: ClaimResult; isRecorded: boolean }) {
  return (
    <li className="claim">
      <div className="claim-head">
        <span className="tag">{claim.id}</span>
        <VerdictBadge verdict={claim.verdict} provisional={claim.provisional} isRecorded={isRecorded} />
      </div>
      <h3>{claim.title}</h3>
      <ClaimFigure claim={claim} />
      <details className="small">
        <summary>Why</summary>
        <p>{claim.reason}</p>
      </details>
      {claim.weak === null ? null : <p className="small muted">Weak: {claim.weak}</p>}
      <p className="small muted">
        The document ({describeGrade(claim.grade)}): <CodeText text={claim.document} />
      </p>
      <ClaimSlips claim={claim.id} />
    </li>
  );
}
