/**
 * Samples the holders that sessions wait for. A timer cannot take the samples: a session thread that is blocked by the disk runs
 * no timers, and once it runs one the wait is over. Instead, every change of a state or a holder calls `sample` first. Nothing
 * has changed since the previous call, so the current state is also the state at each sampling time that has passed since.
 * Samples are therefore evenly spaced in time, however long a hold lasts.
 */

import { limits } from '../api/limits.ts';
import type { HolderSample, HolderSamples } from '../api/waits.ts';
import type { SessionNumber } from './ids.ts';

/** A session whose state is compared. */
export interface SampledSession {
  readonly number: SessionNumber;
  readonly state: number;
}

/** A resource for which sessions wait. */
export interface SampledSlot {
  readonly event: string;
  /** State of the sessions that wait for it. */
  readonly state: number;
  /** Holder as a sample names it. */
  readonly holderId: HolderSample['holder'];
}

export interface HolderSamplerOptions {
  sessions: Iterable<SampledSession>;
  slots: readonly SampledSlot[];
  /** Start and length of the window. */
  fromMs: number;
  forMs: number;
}

/** Tolerance for rounding in sums of times: a sample that is due less than this before the end of the window counts as after it. */
const roundingMs = 0.001;

export class HolderSampler {
  /** When the next sample is due; infinite after the window. */
  dueAtMs: number;
  #everyMs: number = limits.holderSampleMs;
  /** Time from the start of the window to the next sample. */
  #dueInMs = 0;
  readonly #options: HolderSamplerOptions;
  readonly #series: Map<SampledSlot, { samples: HolderSample[]; holds: number; heldMs: number }>;

  constructor(options: HolderSamplerOptions) {
    this.#options = options;
    this.dueAtMs = options.fromMs;
    this.#series = new Map(options.slots.map((slot) => [slot, { samples: [], holds: 0, heldMs: 0 }]));
  }

  /** Takes the samples that are due by `nowMs`. Call it before a state or a holder changes. */
  sample(nowMs: number): void {
    while (this.dueAtMs <= nowMs) {
      for (const [slot, { samples }] of this.#series) samples.push(this.#sampleOf(slot));
      this.#dueInMs += this.#everyMs;
      this.#halveIfFull();
      const { fromMs, forMs } = this.#options;
      this.dueAtMs = this.#dueInMs < forMs - roundingMs ? fromMs + this.#dueInMs : Number.POSITIVE_INFINITY;
    }
  }

  /**
   * A session that holds one thing does not wait for another: with the write lock it is in _log file sync_ for its own write. One that
   * waited for what it holds would be a contradiction, which the sample shows.
   */
  #sampleOf(slot: SampledSlot): HolderSample {
    const busy = this.#options.slots.flatMap((other) => (other === slot ? [] : [other.holderId]));
    const waiting: SessionNumber[] = [];
    let waiters = 0;
    for (const { state, number } of this.#options.sessions) {
      if (state !== slot.state || busy.includes(number)) continue;
      waiters += 1;
      if (waiting.length < limits.sampledWaitersMax) waiting.push(number);
    }
    return { holder: slot.holderId, waiters, waiting };
  }

  #halveIfFull(): void {
    for (const series of this.#series.values()) {
      if (series.samples.length < limits.holderSamplesMax) return; // all have the same number
      series.samples = series.samples.filter((_, index) => index % 2 === 0);
    }
    if (this.#series.size > 0) this.#everyMs *= 2;
  }

  /** A hold has ended. */
  countHold(slot: SampledSlot, { fromMs, toMs }: { fromMs: number; toMs: number }): void {
    const series = this.#series.get(slot);
    const window = this.#options;
    if (series === undefined || fromMs < window.fromMs || toMs > window.fromMs + window.forMs) return;
    series.holds += 1;
    series.heldMs += toMs - fromMs;
  }

  report(): HolderSamples[] {
    return [...this.#series].map(([{ event }, series]) => ({ event, everyMs: this.#everyMs, ...series }));
  }
}
