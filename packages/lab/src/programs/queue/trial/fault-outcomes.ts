/** The effects of a trial's faults on their instances. Pure. */
import type { FaultOutcome, TimelineBin } from '@shardlab/contract';
import type { Gap } from './protocol.ts';
import { rateBetween } from './timeline-rates.ts';
import type { FaultRecord } from './trial-cluster.ts';

/** Commits in progress may still be acknowledged this long after their instance failed or came back. */
const answeredWithinMs = 250;

export interface FaultedTrial {
  records: readonly FaultRecord[];
  /** Gaps by instance, from 1. */
  gaps: readonly (readonly Gap[])[];
  timeline: readonly TimelineBin[];
  /** Start of the measurement on the monotonic clock, milliseconds. */
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
    const outageMs = serviceGapMs(gaps[instance - 1] ?? [], record);
    const backAtMs = outageMs === null ? stopAtMs - measureAtMs : atMs + outageMs;
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
      takeoverMs: record.movedAtMs === null ? null : fixed(record.movedAtMs - record.atMs),
      outageMs: outageMs === null ? null : fixed(outageMs),
      dequeuePerSec,
    };
  });
}

/** The longest gap between commits that the fault caused; 0 if it caused none, null if the gap never ended. */
function serviceGapMs(gaps: readonly Gap[], { atMs, movedAtMs }: FaultRecord): number | null {
  let longest = 0;
  for (const { fromMs, toMs } of gaps) {
    const endless = toMs === Number.POSITIVE_INFINITY;
    // An open gap began with the fault; another may have begun when the instance moved back to its own process.
    const begunByMs = (endless ? atMs : (movedAtMs ?? atMs)) + answeredWithinMs;
    if (toMs <= atMs || fromMs > begunByMs) continue;
    if (endless) return null;
    longest = Math.max(longest, toMs - Math.max(fromMs, atMs));
  }
  return longest;
}

const fixed = (ms: number) => Number(ms.toFixed(1));
