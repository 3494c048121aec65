/** Combines the verdicts about one claim: each condition is taken from the verdict with the best evidence. */
import type { ClaimClause } from '@shardlab/contract';
import { combine } from './combine.ts';
import type { StoredVerdict } from './verdict-history.ts';

/**
 * Orders verdicts by their evidence, the best first: one that was measured before one that says why it is not comparable, and
 * that before one without points; then final before provisional, full scale before quick, more repeats before fewer, steady and
 * undisturbed ones before others, more trials, which are points if the repeats are equal, before fewer, and the newest of equals.
 */
export function byEvidence(a: StoredVerdict, b: StoredVerdict): number {
  const rank = (verdict: StoredVerdict) => [
    substanceOf(verdict),
    verdict.provisional ? 0 : 1,
    verdict.scale === 'full' ? 1 : 0,
    verdict.repeats,
    verdict.disturbed || verdict.notSteady === true ? 0 : 1,
    verdict.trials,
    verdict.endedAtMs,
  ];
  const [left, right] = [rank(a), rank(b)];
  const different = left.findIndex((value, index) => value !== right[index]);
  return different < 0 ? 0 : right[different]! - left[different]!;
}

function substanceOf({ verdict, clauses }: StoredVerdict): number {
  if (clauses.some(({ value }) => value !== null)) return 2;
  return verdict === 'not-comparable' ? 1 : 0;
}

export interface BestEvidence<Kept extends StoredVerdict> {
  /** The best verdict; clauses from `others` are judged with its own. */
  verdict: Kept;
  /** Verdicts of other scenarios, from which it has conditions that its own run did not measure; the best first. */
  others: readonly Kept[];
}

/**
 * The best verdict about a claim, completed by what other scenarios measured under other conditions, if their evidence is of the
 * same kind: both final or both provisional, both at full scale or both quick. Undefined if there are no verdicts.
 */
export function bestEvidence<Kept extends StoredVerdict>(
  verdicts: readonly Kept[],
): BestEvidence<Kept> | undefined {
  // Only the best of each scenario: its others have the same conditions, or those of judges that are no longer in use.
  const ofScenarios = Map.groupBy(verdicts.toSorted(byEvidence), ({ scenarioId }) => scenarioId);
  const [best, ...rest] = [...ofScenarios.values()].map(([first]) => first!);
  if (best === undefined) return undefined;
  const others: Kept[] = [];
  let { clauses } = best;
  for (const other of rest) {
    if (other.provisional !== best.provisional || other.scale !== best.scale) continue;
    const more = conditionsMeasured(other.clauses);
    for (const condition of conditionsMeasured(clauses)) more.delete(condition);
    if (more.size === 0) continue;
    const isFromOther = ({ condition }: ClaimClause) => more.has(condition);
    clauses = [...clauses.filter((clause) => !isFromOther(clause)), ...other.clauses.filter(isFromOther)];
    others.push(other);
  }
  if (others.length === 0) return { verdict: best, others };
  const all = [best, ...others];
  const notSteady = all.some((verdict) => verdict.notSteady === true);
  const disturbed = all.some((verdict) => verdict.disturbed);
  return { verdict: { ...best, ...combine(clauses), notSteady, disturbed }, others };
}

const conditionsMeasured = (clauses: readonly ClaimClause[]) =>
  new Set(clauses.filter(({ value }) => value !== null).map(({ condition }) => condition));
