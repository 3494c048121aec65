import type { Clock } from '../../../meters/clock.ts';
import type { Gap } from './protocol.ts';

/** Shorter intervals without a commit are not gaps, because sessions wait for each other's groups. */
const gapMsMin = 10;
/** Maximum number of gaps kept per instance; reached only by badly stalled instances. */
const gapsMax = 1_000;

/** Records intervals in which no commit of an instance's sessions was acknowledged. */
export class CommitGaps {
  readonly #clock: Clock;
  readonly #gaps: Gap[] = [];
  #lastMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock();
  }

  /** Call it when a commit was acknowledged, with the time of its clock if that was read already. */
  recordCommit(now: number = this.#clock()): void {
    if (now - this.#lastMs >= gapMsMin && this.#gaps.length < gapsMax)
      this.#gaps.push({ fromMs: this.#lastMs, toMs: now });
    this.#lastMs = now;
  }

  /** All gaps; the last one may be open. */
  list(): Gap[] {
    return [...this.#gaps, { fromMs: this.#lastMs, toMs: Number.POSITIVE_INFINITY }];
  }
}
