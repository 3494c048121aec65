/**
 * Whether a repeat was steady: whether the halves of its measured window agree. The counts are those of the instances at
 * the start, the middle and the end of the window, because ticks are late when an instance is busy. Pure.
 */
import { repeatLimits, type Steadiness } from '@shardlab/contract';

/** Messages of acknowledged transactions in an interval. */
export interface MessageCounts {
  ms: number;
  enqueued: number;
  consumed: number;
}

interface Window extends MessageCounts {
  firstHalf: MessageCounts;
}

/**
 * `windows` are those of all instances, `sources` the number of dequeue sources that each receive every message. The drift is 1
 * if nothing was dequeued in the first half of the window, or nothing was enqueued although it was later.
 */
export function steadinessOf(windows: readonly Window[], sources: number): Steadiness {
  const second = windows.map(
    ({ ms, enqueued, consumed, firstHalf }): MessageCounts => ({
      ms: ms - firstHalf.ms,
      enqueued: enqueued - firstHalf.enqueued,
      consumed: consumed - firstHalf.consumed,
    }),
  );
  const first = windows.map(({ firstHalf }) => firstHalf);
  const drifts = (['enqueued', 'consumed'] as const).map((count) =>
    drift(perMs(first, count), perMs(second, count)),
  );
  const rateDrift = drifts.reduce((larger, each) => (Math.abs(each) > Math.abs(larger) ? each : larger));
  const consumed = sum(windows.map((window) => window.consumed));
  const grown = sum(windows.map((window) => sources * window.enqueued - window.consumed));
  const backlogDrift = consumed === 0 ? Math.sign(grown) : grown / consumed;
  const { rateDriftMax, backlogDriftMax } = repeatLimits;
  const isSteady =
    consumed > 0 && Math.abs(rateDrift) <= rateDriftMax && Math.abs(backlogDrift) <= backlogDriftMax;
  return { rateDrift: rounded(rateDrift), backlogDrift: rounded(backlogDrift), isSteady };
}

/** Each instance's counts are divided by its own time, because windows differ by a turn of the event loop. */
const perMs = (counts: readonly MessageCounts[], count: 'enqueued' | 'consumed') =>
  sum(counts.map((each) => each[count] / Math.max(each.ms, 1)));

const drift = (before: number, after: number) => (before === 0 ? Math.sign(after) : after / before - 1);
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const rounded = (value: number) => Number(value.toPrecision(3));
