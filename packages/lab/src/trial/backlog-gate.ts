/**
 * Pauses enqueuers while the backlog is too large, so that slower dequeuers have a bounded backlog. Waits end by events
 * only: a dequeuer's commit, an update from other instances, or the end of the phase.
 */
import type { SessionTime } from '@shardlab/engine';
import { flowControl } from '../meters/load-waits.ts';

export class BacklogGate {
  readonly #max: number;
  /** This instance's share of the backlog at the last update, and the changes by its own sessions since then. */
  #share = 0;
  #change = 0;
  #enforced = true;
  #waiting: { time: SessionTime | undefined; wake: () => void }[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get full(): boolean {
    return this.#enforced && this.#share + this.#change >= this.#max;
  }

  enqueued(messages: number): void {
    this.#change += messages;
  }

  consumed(messages: number): void {
    this.#change -= messages;
    this.#resumeIfBelowMax();
  }

  /**
   * Sets the backlog of a queue that all instances share, divided by their number. Local counts alone would be wrong,
   * because dequeuers here consume what other instances enqueued.
   */
  setShare(messages: number): void {
    this.#share = messages;
    this.#change = 0;
    this.#resumeIfBelowMax();
  }

  /** Resolves when the backlog is small enough. The wait is in the time book of the session, if it has one. */
  wait(time?: SessionTime): Promise<void> {
    time?.begin(flowControl);
    return new Promise((wake) => this.#waiting.push({ time, wake }));
  }

  /** Ends all present and future waits. */
  disable(): void {
    this.#enforced = false;
    this.#resumeIfBelowMax();
  }

  #resumeIfBelowMax(): void {
    if (this.#waiting.length === 0 || this.full) return;
    for (const { time, wake } of this.#waiting.splice(0)) {
      time?.end();
      wake();
    }
  }
}
