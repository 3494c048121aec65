/** Verdicts in words. A claim that does not hold on this machine is a finding, not a failure. */
import type { ClaimResult, Verdict } from '@shardlab/contract';
import { formatValue } from './format.ts';

export const verdictLabels: Readonly<Record<Verdict, string>> = {
  holds: 'Holds here',
  'does-not-hold': 'Does not hold here',
  inconclusive: 'Inconclusive',
  'not-comparable': 'Not comparable',
};

const gradeLabels: Readonly<Record<ClaimResult['grade'], string>> = {
  table: 'from a table',
  prose: 'from the text',
  shape: 'a shape',
};

export const gradeInWords = (grade: ClaimResult['grade']): string => gradeLabels[grade];

/** "0.89" and "× the best of several instances (0.81 to 0.97)"; null where nothing could be measured. */
export function claimFigure(
  claim: Pick<ClaimResult, 'value' | 'unit' | 'interval'>,
): { value: string; rest: string } | null {
  if (claim.value === null) return null;
  const range =
    claim.interval === null
      ? ''
      : ` (${formatValue(claim.interval[0])} to ${formatValue(claim.interval[1])})`;
  return { value: formatValue(claim.value), rest: `${claim.unit}${range}` };
}

/** How many claims have which verdict, in the order of the labels and without the empty ones. */
export function countVerdicts(
  claims: readonly { verdict: Verdict }[],
): { verdict: Verdict; count: number }[] {
  return (Object.keys(verdictLabels) as Verdict[])
    .map((verdict) => ({ verdict, count: claims.filter((claim) => claim.verdict === verdict).length }))
    .filter(({ count }) => count > 0);
}
