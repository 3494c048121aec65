/** Puts the samples of all instances together to one tick. */
import type { Happening, InstanceSample, Tick } from '@shardlab/contract';
import type { Trial } from '../run/plan-run.ts';
import type { Clock } from './clock.ts';

export class LiveTicks {
  readonly #trial: Trial;
  readonly #clock: Clock;
  readonly #emit: (tick: Tick) => void;
  readonly #samples = new Map<number, InstanceSample>();
  #happened: { happening: Happening; atMs: number }[] = [];

  constructor(trial: Trial, clock: Clock, emit: (tick: Tick) => void) {
    this.#trial = trial;
    this.#clock = clock;
    this.#emit = emit;
  }

  /** Goes out with the next tick. */
  happened(happening: Happening): void {
    this.#happened.push({ happening, atMs: this.#clock() });
  }

  /**
   * A tick goes out when every instance has reported. An instance that reports twice meanwhile shows the newer sample:
   * late ones are a sign of load and must not hold the others up for good.
   */
  add(phase: Tick['phase'], sample: InstanceSample): void {
    const lapped = this.#samples.has(sample.instance);
    this.#samples.set(sample.instance, sample);
    const { instances } = this.#trial.params;
    if (this.#samples.size < instances && !lapped) return;
    const { index, implementation, params } = this.#trial;
    const ordered = [...this.#samples.values()].sort((a, b) => a.instance - b.instance);
    this.#samples.clear();
    const tick = { atMs: 0, trial: index, implementation, params, phase, instances: ordered };
    this.#emit(this.#happened.length === 0 ? tick : { ...tick, happened: this.#takeHappened() });
  }

  #takeHappened(): Happening[] {
    const now = this.#clock();
    return this.#happened
      .splice(0)
      .map(({ happening, atMs }) => ({ ...happening, agoMs: Number((now - atMs).toFixed(1)) }));
  }
}
