/** Estimates the remaining time of a run from the overhead that its trials had so far. */
import { estimateTrialMs, type RunPlan } from './plan-run.ts';

export class TimeLeft {
  readonly #estimates: number[];
  #done = 0;
  #estimatedDone = 0;
  #actualDone = 0;

  constructor(plan: RunPlan) {
    this.#estimates = plan.trials.map((trial) => estimateTrialMs(trial, plan));
  }

  /** Call it after each trial, in the order of the plan, with its duration: attempts, probes and a kill included. */
  recordTrial(ms: number): void {
    this.#estimatedDone += this.#estimates[this.#done] ?? 0;
    this.#actualDone += ms;
    this.#done += 1;
  }

  /** Call it instead of `recordTrial` for a trial that need not be run. */
  skipTrial(): void {
    this.#done += 1;
  }

  /** The plan's estimate, corrected by the deviation of the trials so far; milliseconds. */
  etaMs(): number {
    const rest = this.#estimates.slice(this.#done).reduce((sum, ms) => sum + ms, 0);
    const correction = this.#estimatedDone > 0 ? this.#actualDone / this.#estimatedDone : 1;
    return Math.round(rest * correction);
  }
}
