/** The history of one queue over one range: samples, which are the differences of readings. */
import type { QueueSample } from '@shardlab/contract';
import { latencyQuantileMs } from '@shardlab/engine';

export interface Reading {
  atMs: number;
  depth: number;
  /** Both since the queue was created. */
  enqueued: number;
  consumed: number;
  lagMs: number | null;
  /** Dequeue calls by the latency of their first message, since some moment; null if it is not known. */
  deliveryLatency: readonly number[] | null;
}

/** A longer time without a reading is shown as a gap, because the values in it are unknown. In sampling intervals. */
const gapIntervals = 3;

export class SampleSeries {
  readonly everyMs: number;
  readonly #kept: number;
  #samples: QueueSample[] = [];
  /** The reading to which the next sample is the difference. */
  #before: Reading | undefined;
  #savedToMs = Number.NEGATIVE_INFINITY;

  constructor({ everyMs, kept }: { everyMs: number; kept: number }) {
    this.everyMs = everyMs;
    this.#kept = kept;
  }

  /** Takes over samples that were saved. The first reading after them is the start of the next sample. */
  restore(saved: readonly QueueSample[]): void {
    // Some may be from before the clock was set back.
    for (const sample of saved)
      if (sample.atMs > (this.#samples.at(-1)?.atMs ?? 0)) this.#samples.push(sample);
    this.markSaved();
  }

  /** The first reading, and readings that come too soon after another, add no sample. */
  add(reading: Reading): void {
    const { atMs } = reading;
    this.#trim(atMs);
    const before = this.#before;
    const elapsedMs = before === undefined ? Number.POSITIVE_INFINITY : atMs - before.atMs;
    // A negative time: the clock was set back.
    if (before === undefined || elapsedMs < 0 || elapsedMs > this.everyMs * gapIntervals) {
      this.#before = reading;
      return;
    }
    // The timer may be early by some milliseconds.
    if (elapsedMs < this.everyMs * 0.9) return;
    // An instance does not respond, or the queue was created anew: if that lasts, there is a gap.
    if (reading.enqueued < before.enqueued || reading.consumed < before.consumed) return;
    this.#samples.push(difference(before, reading));
    this.#before = reading;
    this.#trim(atMs);
  }

  #trim(nowMs: number): void {
    const fromMs = nowMs - this.everyMs * this.#kept;
    // After the clock was set back, some are from later.
    if ((this.#samples.at(-1)?.atMs ?? 0) > nowMs) {
      this.#samples = this.#samples.filter(({ atMs }) => atMs <= nowMs);
      this.#savedToMs = Number.NEGATIVE_INFINITY; // what was saved with them will be deleted
    }
    const expired = this.#samples.findIndex(({ atMs }) => atMs > fromMs);
    const excess = this.#samples.length - this.#kept;
    this.#samples.splice(0, expired < 0 ? this.#samples.length : Math.max(expired, excess));
  }

  /** Oldest first. */
  samples(nowMs: number): readonly QueueSample[] {
    this.#trim(nowMs);
    return this.#samples;
  }

  unsaved(): QueueSample[] {
    return this.#samples.filter(({ atMs }) => atMs > this.#savedToMs);
  }

  markSaved(): void {
    this.#savedToMs = this.#samples.at(-1)?.atMs ?? this.#savedToMs;
  }
}

function difference(before: Reading, { atMs, depth, enqueued, consumed, lagMs, deliveryLatency }: Reading) {
  const perSec = (count: number) => (count * 1_000) / (atMs - before.atMs);
  return {
    atMs,
    sinceMs: before.atMs,
    depth,
    enqueuePerSec: perSec(enqueued - before.enqueued),
    dequeuePerSec: perSec(consumed - before.consumed),
    latencyMs: latencyBetween(before.deliveryLatency, deliveryLatency),
    lagMs,
  };
}

function latencyBetween(before: readonly number[] | null, now: readonly number[] | null) {
  if (before === null || now === null) return null;
  const counts = now.map((count, bucket) => count - before[bucket]!);
  if (counts.some((count) => count < 0)) return null; // an instance was opened anew, or does not respond
  const [p50, p99] = [latencyQuantileMs(counts, 0.5), latencyQuantileMs(counts, 0.99)];
  return p50 === null || p99 === null ? null : { p50, p99 };
}
