import type { ClaimResult } from '@shardlab/contract';
import { figureInWords, gradeInWords } from '../model/verdicts.ts';
import { VerdictBadge } from './badges.tsx';

/** The claims that a run judges, each with its figure and the reason of its verdict. */
export function RunClaims({ claims, isFinal }: { claims: readonly ClaimResult[]; isFinal: boolean }) {
  return (
    <section className="section" aria-labelledby="claims">
      <div className="section-head">
        <h2 id="claims">Claims</h2>
        <p className="small muted">{isFinal ? 'Judged on all points' : 'Judged on the points so far'}</p>
      </div>
      {claims.length === 0 ? (
        <p className="empty">This scenario judges no claim.</p>
      ) : (
        <ul className="claims panel" aria-label="Claims">
          {claims.map((claim) => (
            <Claim key={claim.id} claim={claim} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Claim({ claim }: { claim: ClaimResult }) {
  const figure = figureInWords(claim);
  return (
    <li className="claim">
      <div className="claim-head">
        <h3>
          <span className="tag">{claim.id}</span> {claim.title}
        </h3>
        <VerdictBadge verdict={claim.verdict} />
      </div>
      {figure === null ? null : <p className="claim-figure">{figure}</p>}
      <p className="small">{claim.reason}</p>
      <p className="small muted">
        The document, {gradeInWords(claim.grade)}: {claim.document}
      </p>
    </li>
  );
}
