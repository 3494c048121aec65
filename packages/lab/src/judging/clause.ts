/** The one rule by which a measured value decides a statement: docs/decisions/verdicts.md. */
import type { ClaimClause, Provenance, Verdict } from '@shardlab/contract';
import { type Interval, median, repeatsMin } from '@shardlab/model';
import { plural } from '../programs/figures-in-words.ts';
import { type Sample, steadyRepeatsOf } from './sample.ts';

/**
 * How far single measurements of the same thing differ on a machine with other work (observed between quick runs): a smaller
 * difference from the bar, measured fewer than five times, proves nothing.
 */
export const singleRepeatNoise = 0.2;

export interface Bar {
  bar: number;
  wanted: 'over' | 'under';
  /** Distance from the bar that fewer than five repeats must have; default: a share of the bar. */
  noise?: number;
}

/**
 * Whether a value is on the required side of a bar. From five repeats on the 95 % interval decides. With fewer, every repeat must
 * be on the same side, and the median must be further from the bar than single measurements usually differ.
 */
export function verdictOf(
  { repeats, interval }: Pick<Sample, 'repeats' | 'interval'>,
  { bar, wanted, noise = singleRepeatNoise * Math.abs(bar) }: Bar,
): Extract<Verdict, 'holds' | 'does-not-hold' | 'inconclusive'> {
  const side = repeats.length < repeatsMin ? provisionalSide(repeats, bar, noise) : sideOf(interval, bar);
  if (side === null) return 'inconclusive';
  return side === wanted ? 'holds' : 'does-not-hold';
}

function sideOf(interval: Interval | null, bar: number): Bar['wanted'] | null {
  if (interval === null || Number.isNaN(interval[0])) return null;
  if (interval[0] > bar) return 'over';
  return interval[1] < bar ? 'under' : null;
}

function provisionalSide(repeats: readonly number[], bar: number, noise: number): Bar['wanted'] | null {
  const distance = median(repeats) - bar;
  if (!(Math.abs(distance) > noise)) return null;
  if (repeats.every((value) => value > bar)) return 'over';
  return repeats.every((value) => value < bar) ? 'under' : null;
}

export interface ClauseFacts {
  condition?: string | null;
  statement: string;
  unit: string;
  sample: Sample;
  /** Bounds of the value; both together are a band. */
  over?: number;
  under?: number;
  noise?: number;
  provenance: Provenance;
  /** The measurements, as sentences. */
  numbers?: string;
  digits?: number;
}

/** A statement about a measured value. */
export function clauseOf(facts: ClauseFacts): ClaimClause {
  const { condition = null, statement, unit, over, under, provenance, numbers = '' } = facts;
  const sample = steadyRepeatsOf(facts.sample);
  const { digits = 2 } = facts;
  const noise = facts.noise === undefined ? {} : { noise: facts.noise };
  const verdicts = [
    ...(over === undefined ? [] : [verdictOf(sample, { bar: over, wanted: 'over', ...noise })]),
    ...(under === undefined ? [] : [verdictOf(sample, { bar: under, wanted: 'under', ...noise })]),
  ];
  const repeats = sample.repeats.length;
  const provisional = repeats < repeatsMin;
  return {
    condition,
    statement,
    verdict: verdicts.find((verdict) => verdict !== 'holds') ?? 'holds',
    value: Number.isFinite(sample.value) ? fixed(sample.value, digits) : null,
    unit,
    interval: rounded(sample.interval, digits),
    repeats,
    provenance,
    provisional,
    reason: [
      numbers,
      barInWords(over, under),
      notSteadyInWords(facts.sample, sample),
      provisional ? provisionalInWords(repeats) : '',
    ]
      .filter((words) => words !== '')
      .join(' '),
  };
}

function barInWords(over?: number, under?: number): string {
  if (over !== undefined && under !== undefined)
    return `Needed: ${numberInWords(over)} to ${numberInWords(under)}.`;
  return over === undefined
    ? `Needed: less than ${numberInWords(under!)}.`
    : `Needed: more than ${numberInWords(over)}.`;
}

/** "−0.5", "150,000", "0.3333" */
const numberInWords = (value: number): string =>
  value.toLocaleString('en-US', { maximumSignificantDigits: 4 }).replace('-', '−');

const provisionalInWords = (repeats: number) =>
  `Provisional: ${plural(repeats, 'repeat')}, and an interval needs ${repeatsMin}.`;

/** `judged`: the sample, or its steady repeats only. */
function notSteadyInWords({ repeats, notSteady = [] }: Sample, judged: Sample): string {
  const count = notSteady.filter((each) => each).length;
  if (count === 0) return '';
  if (count === repeats.length)
    return count === 1 ? 'Its repeat was not steady.' : `None of its ${count} repeats was steady.`;
  const [are, them] = count === 1 ? ['was', 'it is'] : ['were', 'they are'];
  const left = judged.repeats.length < repeats.length ? `${them} left out` : `${them} judged with the others`;
  return `${count} of ${repeats.length} repeats ${are} not steady; ${left}.`;
}

/** A clause about something that must never happen, so that a single case decides, whatever the value over all repeats is. */
export const failed = (clause: ClaimClause, fault: string): ClaimClause => ({
  ...clause,
  statement: 'without any fault',
  verdict: 'does-not-hold',
  value: null,
  interval: null,
  provisional: false,
  reason: `${clause.reason} But ${fault}.`,
});

/** A statement that these points cannot decide. */
export function clauseWithout(
  verdict: 'inconclusive' | 'not-comparable',
  { condition = null, statement, unit = '', reason }: Partial<ClaimClause> & Pick<ClaimClause, 'reason'>,
): ClaimClause {
  return {
    condition,
    statement: statement ?? '',
    verdict,
    value: null,
    unit,
    interval: null,
    repeats: 0,
    provenance: 'measured',
    provisional: false,
    reason,
  };
}

/** The answer of a judge whose points are missing. */
export const needs = (reason: string): ClaimClause[] => [clauseWithout('inconclusive', { reason })];

/** A clause that compares with other hardware: on weaker hardware, missing the bar proves nothing. */
export function onLessHardware(clause: ClaimClause, reason: string): ClaimClause {
  if (clause.verdict === 'holds') return clause;
  return { ...clause, verdict: 'not-comparable', reason: `${clause.reason} ${reason}` };
}

export const fixed = (value: number, digits = 2) => Number(value.toFixed(digits));
export const rounded = (interval: Interval | null, digits = 2): Interval | null =>
  interval === null || !interval.every(Number.isFinite)
    ? null
    : [fixed(interval[0], digits), fixed(interval[1], digits)];
