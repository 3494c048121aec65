/** Text for the verdicts on claims. A claim that does not hold on this machine is a finding, not an error. */
import {
  type ClaimClause,
  type ClaimResult,
  type RunStatus,
  type Verdict,
  yesOrNo,
} from '@shardlab/contract';
import { formatValue } from './format.ts';
import { isFinished } from './run-state.ts';

export const verdictLabels: Readonly<Record<Verdict, string>> = {
  holds: 'Holds here',
  mixed: 'Mixed',
  'does-not-hold': 'Does not hold here',
  inconclusive: 'Inconclusive',
  'not-comparable': 'Not comparable',
};

/** Labels for verdicts some or all of which were reached on other machines. */
export const verdictLabelsAnywhere: Readonly<Record<Verdict, string>> = {
  ...verdictLabels,
  holds: 'Holds',
  'does-not-hold': 'Does not hold',
};

export interface Judged {
  verdict: Verdict;
  /** Fewer repeats than a verdict needs. */
  provisional: boolean;
  /** True for a run that comes with the lab and was measured on another machine. */
  isRecorded?: boolean;
}

/** "Holds here, provisional", "Holds (recorded)" */
export const verdictLabel = ({ verdict, provisional, isRecorded = false }: Judged): string =>
  `${isRecorded ? `${verdictLabelsAnywhere[verdict]} (recorded)` : verdictLabels[verdict]}${provisional ? ', provisional' : ''}`;

/** "with a 1 ms round trip, emulated: the rate rises with threads" */
export const describeClause = ({
  condition,
  statement,
}: Pick<ClaimClause, 'condition' | 'statement'>): string =>
  condition === null ? statement : `${condition}: ${statement}`;

const gradeLabels: Readonly<Record<ClaimResult['grade'], string>> = {
  table: 'from a table',
  prose: 'from the text',
  shape: 'from the shape of a curve',
};

export const describeGrade = (grade: ClaimResult['grade']): string => gradeLabels[grade];

/**
 * Value, unit and interval, to be written after each other: "0.89", " × the best of several instances", " (0.81 to 0.97)". No unit
 * for an answer of yes or no, no interval if its ends read the same. Null if nothing was measured.
 */
export function claimFigure(
  claim: Pick<ClaimResult, 'value' | 'unit' | 'interval'>,
): { value: string; unit: string; range: string } | null {
  if (claim.value === null) return null;
  // An answer and not a quantity, such as whether the service returned.
  if (claim.unit === yesOrNo) return { value: claim.value >= 0.5 ? 'yes' : 'no', unit: '', range: '' };
  const [low, high] = (claim.interval ?? []).map(formatValue);
  return {
    value: formatValue(claim.value),
    unit: ` ${claim.unit}`,
    range: low === high ? '' : ` (${low} to ${high})`,
  };
}

/** On which points a run's claims were judged: a run that was cut short has no more to come. */
export function judgedOn(status: RunStatus): string {
  if (status === 'done') return 'on all points';
  return isFinished(status) ? 'on the points that were measured' : 'on the points so far';
}

export interface VerdictCount {
  verdict: Verdict;
  count: number;
  /** How many of them are provisional. */
  provisional: number;
  /** How many of them were recorded on another machine. */
  recorded: number;
}

/** The number of claims for each verdict that occurs, in the order of `verdictLabels`. */
export function countVerdicts(claims: readonly Judged[]): VerdictCount[] {
  return (Object.keys(verdictLabels) as Verdict[])
    .map((verdict) => {
      const ofVerdict = claims.filter((claim) => claim.verdict === verdict);
      const provisional = ofVerdict.filter((claim) => claim.provisional).length;
      const recorded = ofVerdict.filter((claim) => claim.isRecorded === true).length;
      return { verdict, count: ofVerdict.length, provisional, recorded };
    })
    .filter(({ count }) => count > 0);
}

/** "4 hold here (3 provisionally)", "1 does not hold here", "2 inconclusive", "4 hold (recorded)", "5 hold (2 recorded)". */
export function describeVerdictCount({ verdict, count, provisional, recorded }: VerdictCount): string {
  const remark = (number: number, word: string) =>
    number === 0 ? [] : [number === count ? word : `${number} ${word}`];
  const remarks = [...remark(recorded, 'recorded'), ...remark(provisional, 'provisionally')];
  const here = recorded === 0 ? ' here' : '';
  const words: Partial<Record<Verdict, string>> = {
    holds: `${count === 1 ? 'holds' : 'hold'}${here}`,
    'does-not-hold': `${count === 1 ? 'does' : 'do'} not hold${here}`,
  };
  const rest = remarks.length === 0 ? '' : ` (${remarks.join(', ')})`;
  return `${count} ${words[verdict] ?? verdictLabels[verdict].toLowerCase()}${rest}`;
}

/** "3 hold here, 2 inconclusive": all claims of one run. */
export const verdictsInWords = (claims: readonly Judged[], isRecorded: boolean): string =>
  countVerdicts(claims.map(({ verdict, provisional }) => ({ verdict, provisional, isRecorded })))
    .map(describeVerdictCount)
    .join(', ');
