/** Puts the samples of all instances together to one tick. */
import type { InstanceSample, Tick } from '@shardlab/contract';
import type { Trial } from '../run/plan-run.ts';

export class LiveTicks {
  readonly #trial: Trial;
  readonly #emit: (tick: Tick) => void;
  readonly #samples = new Map<number, InstanceSample>();

  constructor(trial: Trial, emit: (tick: Tick) => void) {
    this.#trial = trial;
    this.#emit = emit;
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
    this.#emit({ atMs: 0, trial: index, implementation, params, phase, instances: ordered });
  }
}
