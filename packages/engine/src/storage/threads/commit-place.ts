/**
 * Where the groups of a process that only serves sessions are committed: on its session thread while the disk is fast, which
 * saves the way to the writer thread and back, and on the writer thread otherwise, since nothing else runs during a sync.
 *
 * The measure is the 99th percentile of the last `commitsMeasured` commits, from the first write to the end of the sync. Two
 * thresholds keep the place from changing to and fro.
 */
import { limits } from '../../api/limits.ts';

export type CommitPlace = 'writer thread' | 'session thread';

/** Decides where the next group is committed. */
export interface CommitPlacement {
  readonly place: CommitPlace;
  /** Records that a synced group was committed at `place` in `commitMs` milliseconds. */
  record(commitMs: number): void;
}

/** Commits that may take longer than a threshold where the 99th percentile does not. */
const slowCommitsMax = Math.floor(limits.commitsMeasured / 100);

export class AdaptiveCommitPlacement implements CommitPlacement {
  #place: CommitPlace = 'writer thread';
  /** The last commits at this place, as a ring. */
  readonly #commitMs = new Float64Array(limits.commitsMeasured);
  #measured = 0;
  /** Number of measured commits that took longer than the lower threshold, and than the upper one. */
  #aboveShort = 0;
  #aboveLong = 0;

  get place(): CommitPlace {
    return this.#place;
  }

  record(commitMs: number): void {
    const at = this.#measured % limits.commitsMeasured;
    if (this.#measured >= limits.commitsMeasured) this.#count(this.#commitMs[at]!, -1);
    this.#commitMs[at] = commitMs;
    this.#count(commitMs, 1);
    this.#measured += 1;
    if (this.#place === 'session thread') {
      if (this.#aboveLong > slowCommitsMax || commitMs > limits.commitStallMs) this.#change('writer thread');
    } else if (this.#measured >= limits.commitsMeasured && this.#aboveShort <= slowCommitsMax)
      this.#change('session thread');
  }

  #count(commitMs: number, change: 1 | -1): void {
    if (commitMs > limits.shortCommitMs) this.#aboveShort += change;
    if (commitMs > limits.longCommitMs) this.#aboveLong += change;
  }

  #change(place: CommitPlace): void {
    this.#place = place;
    this.#measured = 0;
    this.#aboveShort = 0;
    this.#aboveLong = 0;
  }
}
