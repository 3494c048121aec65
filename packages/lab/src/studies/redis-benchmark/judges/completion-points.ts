/** The points of the document's first plan (one thread, one queue, all enqueues first), and ratios between systems. */
import { numberParam, type Point } from '@shardlab/contract';
import { type Interval, median, ratioInterval } from '@shardlab/model';

export const rates = [
  { name: 'enqueuePerSec', words: 'enqueue' },
  { name: 'dequeuePerSec', words: 'dequeue' },
] as const;
export type RateName = (typeof rates)[number]['name'];

export const onePlanPoints = (points: readonly Point[]): Point[] =>
  points.filter(
    ({ program, params }) =>
      program === 'run-to-completion' &&
      params.schedule === 'enqueue-then-dequeue' &&
      numberParam(params, 'threads') === 1,
  );

export const ofSystem = (points: readonly Point[], system: string) =>
  points.filter((point) => point.system === system);

export const repeatsOf = (point: Point, name: RateName): readonly number[] =>
  point.figures[name]?.repeats ?? [];

/** The median over all its points, messages per second. */
export const rateOf = (points: readonly Point[], name: RateName): number =>
  median(points.flatMap((point) => point.figures[name]?.value ?? []));

/** The systems that a claim compares: those behind a socket, as in the document, if a run has them. */
export function comparedQueues(points: readonly Point[]): {
  buffered: string;
  persistent: string;
  words: string;
} {
  const has = (system: string) => points.some((point) => point.system === system);
  return has('buffered-remote') && has('sharded-remote')
    ? {
        buffered: 'buffered-remote',
        persistent: 'sharded-remote',
        words: 'all behind a Unix socket, as the document has its servers behind a network',
      }
    : { buffered: 'buffered', persistent: 'sharded', words: "our queues in the client's process" };
}

export interface Ratio {
  /** The geometric mean over all pairs. */
  value: number;
  interval: Interval | null;
  pairs: number;
}

/** Rate of one system ÷ rate of another, pair by pair: the same number of messages, the same repeat. Null without pairs. */
export function ratioOf(
  points: readonly Point[],
  { over, under, name }: { over: string; under: string; name: RateName },
): Ratio | null {
  const [above, below]: [number[], number[]] = [[], []];
  for (const one of ofSystem(points, over)) {
    const messages = numberParam(one.params, 'messages');
    const other = ofSystem(points, under).find(({ params }) => numberParam(params, 'messages') === messages);
    if (other === undefined) continue;
    const [first, second] = [repeatsOf(one, name), repeatsOf(other, name)];
    const pairs = Math.min(first.length, second.length);
    above.push(...first.slice(0, pairs));
    below.push(...second.slice(0, pairs));
  }
  if (above.length === 0) return null;
  const logs = above.map((rate, index) => Math.log(rate / below[index]!));
  const value = Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
  return { value, interval: ratioInterval(above, below), pairs: above.length };
}

/** An interval whose ends differ by more than this says nothing; its numbers would only look exact. */
const intervalWidthMax = 100;

export const isTelling = ([low, high]: Interval) => high / low <= intervalWidthMax;

export function times({ value, interval }: Omit<Ratio, 'pairs'>): string {
  if (interval === null) return `${short(value)} ×`;
  const [low, high] = interval;
  return isTelling(interval)
    ? `${short(value)} × (${short(low)} to ${short(high)})`
    : `${short(value)} × (repeats too different for an interval)`;
}

export const short = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(2)));
