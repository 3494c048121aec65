import type { ClaimResult, RunStatus } from '@shardlab/contract';
import { cellMarks } from '../../model/mosaic.ts';
import { judgedOn, verdictLabel } from '../../model/verdicts.ts';
import { VerdictBadge } from '../../parts/badges.tsx';
import { ClaimClauses } from '../../parts/claim-clauses.tsx';
import { ClaimFigure } from '../../parts/claim-figure.tsx';
import { ClaimSlips } from '../../parts/claim-slips.tsx';
import { DocumentWords } from '../../parts/document-words.tsx';

/** One claim of the run large: the document's words, and the verdict so far by clause and condition. Nothing if it tests none. */
export function RunClaimBoard(props: {
  claims: readonly ClaimResult[];
  /** Id of the shown claim; null for the first that was decided. */
  selected: string | null;
  status: RunStatus;
  /** See `Judged`. */
  isRecorded: boolean;
  onSelect(id: string): void;
}) {
  const { claims, selected, status, isRecorded, onSelect } = props;
  const claim =
    claims.find(({ id }) => id === selected) ??
    claims.find(({ verdict }) => verdict !== 'inconclusive') ??
    claims[0];
  if (claim === undefined) return null;
  return (
    <section className="panel board-claim" aria-label="Verdict">
      <div className="row">
        {claims.map(({ id, verdict, provisional }) => (
          <button
            key={id}
            type="button"
            className="cell cell-small"
            data-state={verdict}
            data-provisional={provisional ? '' : undefined}
            aria-pressed={id === claim.id}
            aria-label={`${id}, ${verdictLabel({ verdict, provisional, isRecorded }).toLowerCase()}`}
            onClick={() => onSelect(id)}
          >
            <span aria-hidden="true">
              {cellMarks[verdict]} {id}
            </span>
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className="board-claim-body" tabIndex={0} aria-label={`Claim ${claim.id}`}>
        <DocumentWords claim={claim} />
        <ClaimSlips claim={claim.id} />
        <div className="row" aria-live="polite">
          <VerdictBadge verdict={claim.verdict} provisional={claim.provisional} isRecorded={isRecorded} />
          <span className="small muted">{judgedOn(status)}</span>
        </div>
        <ClaimFigure claim={claim} />
        {claim.clauses.length < 2 ? <p className="small">{claim.reason}</p> : null}
        <ClaimClauses clauses={claim.clauses} isRecorded={isRecorded} />
        {claim.weak === null ? null : <p className="small muted">Weak: {claim.weak}</p>}
      </section>
    </section>
  );
}
