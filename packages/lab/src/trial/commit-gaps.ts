import type { Clock } from './clock.ts';
import type { Gap } from './protocol.ts';

/** Shorter times without a commit are none: sessions wait for each other's groups. */
const gapMsMin = 10;
/** Of a session-less or badly stalled instance; the longest would be told anyway. */
const gapsMax = 1_000;

/** When no session of an instance had a commit acknowledged. */
export class CommitGaps {
  readonly #clock: Clock;
  readonly #gaps: Gap[] = [];
  #lastMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock();
  }

  /** A commit was acknowledged. */
  committed(): void {
    const now = this.#clock();
    if (now - this.#lastMs >= gapMsMin && this.#gaps.length < gapsMax)
      this.#gaps.push({ fromMs: this.#lastMs, toMs: now });
    this.#lastMs = now;
  }

  /** The last one has not ended. */
  list(): Gap[] {
    return [...this.#gaps, { fromMs: this.#lastMs, toMs: Number.POSITIVE_INFINITY }];
  }
}
