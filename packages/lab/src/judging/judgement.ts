/** The type of a judgement, and what all judges have in common: comparing with a bar, wording. */
import type { ClaimResult, Point, Verdict } from '@shardlab/contract';
import type { Interval } from '@shardlab/model';

export interface JudgeContext {
  /** Cores of the machine on which was measured; null before anything was measured. */
  cores: number | null;
}

export type Judgement = Pick<ClaimResult, 'verdict' | 'value' | 'unit' | 'interval' | 'reason'>;

/** The verdict about a claim by points in the form that the judge reads. */
export type Judge<Read = Point> = (points: readonly Read[], context: JudgeContext) => Judgement;

/**
 * How far two single measurements of the same thing can differ on a machine with other work (observed between quick
 * runs): a smaller difference, measured once, proves nothing.
 */
export const singleRepeatNoise = 0.2;

export function inconclusive(unit: string, reason: string, value: number | null = null): Judgement {
  return { verdict: 'inconclusive', value, unit, interval: null, reason };
}

/** Whether messages of a point were lost, duplicated, damaged or out of order. */
export const isFaulty = ({
  integrity: { lost, duplicated, damaged, outOfOrder },
}: Pick<Point, 'integrity'>): boolean => lost + duplicated + damaged + outOfOrder > 0;

/**
 * Whether a value is on the expected side of a bar. An interval that contains the bar is inconclusive, and a value
 * measured once must be further from the bar than single measurements differ.
 */
export function verdictAgainstBar(options: {
  value: number;
  interval: Interval | null;
  bar: number;
  wanted: 'over' | 'under';
}): Verdict {
  const { value, interval, bar, wanted } = options;
  const doubtful =
    interval === null
      ? Math.abs(value / bar - 1) < singleRepeatNoise
      : interval[0] <= bar && bar <= interval[1];
  if (doubtful) return 'inconclusive';
  return value > bar === (wanted === 'over') ? 'holds' : 'does-not-hold';
}

export const perSec = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`;
export const fixed = (value: number, digits = 2) => Number(value.toFixed(digits));
export const rounded = (interval: Interval | null, digits = 2): Interval | null =>
  interval === null ? null : [fixed(interval[0], digits), fixed(interval[1], digits)];
/** Whole percents from 1 % on; one significant digit below. */
export const percent = (share: number) =>
  `${Math.abs(share) >= 0.01 ? Math.round(share * 100) : Number((share * 100).toPrecision(1))} %`;

/** Appended to a reason if there is no interval. */
export const noInterval = (repeats: number) =>
  repeats < 2 ? ' Only one repeat, so there is no interval; the full scale has more.' : '';
