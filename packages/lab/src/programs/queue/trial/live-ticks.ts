/** Combines the samples of all instances into ticks. */
import { type InstanceSample, numberParam, type Tick, type TickEvent } from '@shardlab/contract';
import type { Clock } from '../../../meters/clock.ts';
import type { Trial } from '../../../trial/trial.ts';

export class LiveTicks {
  readonly #trial: Trial;
  readonly #clock: Clock;
  readonly #emit: (tick: Tick) => void;
  readonly #samples = new Map<number, InstanceSample>();
  #pendingEvents: { happening: TickEvent; atMs: number }[] = [];

  constructor(trial: Trial, clock: Clock, emit: (tick: Tick) => void) {
    this.#trial = trial;
    this.#clock = clock;
    this.#emit = emit;
  }

  /** Adds an event to the next tick. */
  recordEvent(happening: TickEvent): void {
    this.#pendingEvents.push({ happening, atMs: this.#clock() });
  }

  /**
   * Emits a tick when every instance has reported. If an instance reports twice in that time, the newer sample is used, so that
   * slow instances do not delay the others indefinitely.
   */
  add(phase: Tick['phase'], sample: InstanceSample): void {
    const lapped = this.#samples.has(sample.instance);
    this.#samples.set(sample.instance, sample);
    const instances = numberParam(this.#trial.params, 'instances');
    if (this.#samples.size < instances && !lapped) return;
    const { index, program, system, params } = this.#trial;
    const ordered = [...this.#samples.values()].sort((a, b) => a.instance - b.instance);
    this.#samples.clear();
    const tick = { atMs: 0, trial: index, program, system, params, phase, instances: ordered };
    this.#emit(this.#pendingEvents.length === 0 ? tick : { ...tick, events: this.#takeEvents() });
  }

  #takeEvents(): TickEvent[] {
    const now = this.#clock();
    return this.#pendingEvents
      .splice(0)
      .map(({ happening, atMs }) => ({ ...happening, agoMs: Number((now - atMs).toFixed(1)) }));
  }
}
