/**
 * Samples who has what sessions wait for. Nothing samples by a timer: a session thread that waits for a disk runs none, and one that
 * runs a timer is past the moment that matters. Instead whoever changes a state or a holder asks first (`sample`), and as
 * nothing has changed since the last time, the state of now is that of every moment that was due meanwhile. So the samples are
 * evenly spread over time, however long a hold is.
 */
import { limits } from '../api/limits.ts';
import type { HolderSample, HolderSamples } from '../api/waits.ts';

/** A session whose state is compared. */
export interface SampledSession {
  readonly number: number;
  readonly state: number;
}

/** What some sessions wait for. */
export interface SampledSlot {
  readonly event: string;
  /** Of the sessions that wait for it. */
  readonly state: number;
  /** As in a sample. */
  readonly holderId: HolderSample['holder'];
}

export interface HolderSamplerOptions {
  sessions: Iterable<SampledSession>;
  slots: readonly SampledSlot[];
  /** Of the window. */
  fromMs: number;
  toMs: number;
}

export class HolderSampler {
  /** When the next sample is due; infinite after the window. */
  dueAtMs: number;
  #everyMs: number = limits.holderSampleMs;
  readonly #options: HolderSamplerOptions;
  readonly #series: Map<SampledSlot, { samples: HolderSample[]; holds: number; heldMs: number }>;

  constructor(options: HolderSamplerOptions) {
    this.#options = options;
    this.dueAtMs = options.fromMs;
    this.#series = new Map(options.slots.map((slot) => [slot, { samples: [], holds: 0, heldMs: 0 }]));
  }

  /** Takes the samples that are due by `nowMs`. To be called before anything changes. */
  sample(nowMs: number): void {
    while (this.dueAtMs <= nowMs) {
      const holders = this.#options.slots.map(({ holderId }) => holderId);
      for (const [slot, { samples }] of this.#series) samples.push(this.#sampleOf(slot, holders));
      this.dueAtMs += this.#everyMs;
      this.#halveIfFull();
      if (this.dueAtMs >= this.#options.toMs) this.dueAtMs = Number.POSITIVE_INFINITY;
    }
  }

  /** A session that holds one thing does not wait for another: with the write lock it is in _log file sync_ for its own write. */
  #sampleOf({ state, holderId }: SampledSlot, holders: readonly HolderSample['holder'][]): HolderSample {
    const waiting: number[] = [];
    let waiters = 0;
    for (const session of this.#options.sessions) {
      if (session.state !== state || holders.includes(session.number)) continue;
      waiters += 1;
      if (waiting.length < limits.sampledWaitersMax) waiting.push(session.number);
    }
    return { holder: holderId, waiters, waiting };
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
    if (series === undefined || fromMs < this.#options.fromMs || toMs > this.#options.toMs) return;
    series.holds += 1;
    series.heldMs += toMs - fromMs;
  }

  report(): HolderSamples[] {
    return [...this.#series].map(([{ event }, series]) => ({ event, everyMs: this.#everyMs, ...series }));
  }
}
