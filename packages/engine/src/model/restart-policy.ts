/**
 * How long to wait before the process of an instance is restarted after an unrequested exit, and when to give up. Two counts,
 * because they mean different things: a process that never opened its instance will probably fail the same way again, while one
 * that served for a moment may have been killed from outside and must be back soon.
 */
export interface RestartPolicyOptions {
  /** A process that served for this long was healthy: what ends it is a new failure. */
  healthyMs: number;
  pauseMsMin: number;
  /** Longest pause after a process that never opened its instance, and after one that served for a moment. */
  failedStartPauseMsMax: number;
  shortRunPauseMsMax: number;
  /** Consecutive processes of either kind after which the policy is exhausted. */
  failedStartsMax: number;
  shortRunsMax: number;
}

export class RestartPolicy {
  readonly #options: RestartPolicyOptions;
  #failedStarts = 0;
  #shortRuns = 0;

  constructor(options: RestartPolicyOptions) {
    this.#options = options;
  }

  /** Counts a process that ended unasked. `servedMs`: how long it served; undefined if it never opened its instance. */
  countEnd(servedMs: number | undefined): void {
    if (servedMs === undefined) this.#failedStarts += 1;
    else {
      this.#failedStarts = 0;
      this.#shortRuns = servedMs < this.#options.healthyMs ? this.#shortRuns + 1 : 0;
    }
  }

  /** The process was started or stopped on request: earlier failures no longer count. */
  reset(): void {
    this.#failedStarts = 0;
    this.#shortRuns = 0;
  }

  /** Consecutive processes that did not last. */
  get attempts(): number {
    return this.#failedStarts + this.#shortRuns;
  }

  /** Milliseconds before the next start: none after a healthy process, then doubling up to a bound. */
  get pauseMs(): number {
    const { pauseMsMin, failedStartPauseMsMax, shortRunPauseMsMax } = this.#options;
    if (this.attempts === 0) return 0;
    const pauseMsMax = this.#failedStarts > 0 ? failedStartPauseMsMax : shortRunPauseMsMax;
    return Math.min(pauseMsMin * 2 ** (this.attempts - 1), pauseMsMax);
  }

  get isExhausted(): boolean {
    const { failedStartsMax, shortRunsMax } = this.#options;
    return this.#failedStarts >= failedStartsMax || this.#shortRuns >= shortRunsMax;
  }
}
