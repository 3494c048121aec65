/** What the faults of a trial did to the service of their instances. Pure. */
import type { FaultOutcome, TimelineBin } from '@shardlab/contract';
import type { Gap } from './protocol.ts';
import { rateBetween } from './timeline-rates.ts';
import type { FaultRecord } from './trial-cluster.ts';

/** A commit that was under way may still be answered so long after its instance failed or came back. */
const answeredWithinMs = 250;

export interface FaultedTrial {
  records: readonly FaultRecord[];
  /** By instance, from 1. */
  gaps: readonly (readonly Gap[])[];
  timeline: readonly TimelineBin[];
  /** On the monotonic clock. */
  measureAtMs: number;
  stopAtMs: number;
}

export function faultOutcomes({
  records,
  gaps,
  timeline,
  measureAtMs,
  stopAtMs,
}: FaultedTrial): FaultOutcome[] {
  let servedFromMs = 0;
  return records.map((record, index) => {
    const { kind, instance } = record.fault;
    const atMs = record.atMs - measureAtMs;
    const withoutServiceMs = withoutService(gaps[instance - 1] ?? [], record);
    const backAtMs = withoutServiceMs === null ? stopAtMs - measureAtMs : atMs + withoutServiceMs;
    const next = records[index + 1];
    const untilMs = (next?.atMs ?? stopAtMs) - measureAtMs;
    const rate = (fromMs: number, toMs: number) => rateBetween(timeline, 'dequeuePerSec', { fromMs, toMs });
    const dequeuePerSec = {
      before: rate(servedFromMs, atMs),
      during: rate(atMs, backAtMs),
      after: rate(backAtMs, untilMs),
    };
    servedFromMs = backAtMs;
    return {
      kind,
      instance,
      atMs: fixed(atMs),
      movedMs: record.movedAtMs === null ? null : fixed(record.movedAtMs - record.atMs),
      withoutServiceMs: withoutServiceMs === null ? null : fixed(withoutServiceMs),
      dequeuePerSec,
    };
  });
}

/** The longest time without a commit that the fault began; 0 if it began none, null if it never ended. */
function withoutService(gaps: readonly Gap[], { atMs, movedAtMs }: FaultRecord): number | null {
  let longest = 0;
  for (const { fromMs, toMs } of gaps) {
    const endless = toMs === Number.POSITIVE_INFINITY;
    // What never ended began with the fault; what ended may have begun when the instance moved, as at a give-back.
    const begunByMs = (endless ? atMs : (movedAtMs ?? atMs)) + answeredWithinMs;
    if (toMs <= atMs || fromMs > begunByMs) continue;
    if (endless) return null;
    longest = Math.max(longest, toMs - Math.max(fromMs, atMs));
  }
  return longest;
}

const fixed = (ms: number) => Number(ms.toFixed(1));
