/** Estimates how long the rest of a run takes, from what its trials took beside their phases so far. */
import type { RunPlan } from './plan-run.ts';
import { estimateTrialMs } from './plan-run.ts';

export class TimeLeft {
  readonly #estimates: number[];
  #done = 0;
  #estimatedDone = 0;
  #actualDone = 0;

  constructor(plan: RunPlan) {
    this.#estimates = plan.trials.map((trial) => estimateTrialMs(trial, plan.phases));
  }

  /** Call after each trial, in the order of the plan, with how long it took. */
  trialTook(ms: number): void {
    this.#estimatedDone += this.#estimates[this.#done] ?? 0;
    this.#actualDone += ms;
    this.#done += 1;
  }

  /** Milliseconds; the plan's own estimate, corrected by how far the trials so far were from theirs. */
  etaMs(): number {
    const rest = this.#estimates.slice(this.#done).reduce((sum, ms) => sum + ms, 0);
    const correction = this.#estimatedDone > 0 ? this.#actualDone / this.#estimatedDone : 1;
    return Math.round(rest * correction);
  }
}
