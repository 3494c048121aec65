import type { ClaimClause } from '@shardlab/contract';
import { claimFigure, describeClause } from '../model/verdicts.ts';
import { VerdictBadge } from './badges.tsx';

/** The statements of a claim, each with its verdict; nothing if there is only one, which is the verdict itself. */
export function ClaimClauses(props: {
  clauses: readonly ClaimClause[];
  /** See `Judged`. */
  isRecorded?: boolean;
}) {
  const { clauses, isRecorded = false } = props;
  if (clauses.length < 2) return null;
  return (
    <ul className="clauses small" aria-label="Clauses">
      {clauses.map((clause) => {
        const figure = claimFigure(clause);
        return (
          <li key={describeClause(clause)}>
            <VerdictBadge verdict={clause.verdict} provisional={clause.provisional} isRecorded={isRecorded} />{' '}
            {describeClause(clause)}
            {figure === null ? null : (
              <span className="muted">
                {' '}
                ({figure.value}
                {figure.unit}
                {figure.range}
                {clause.provenance === 'measured' ? '' : `, ${clause.provenance}`})
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
