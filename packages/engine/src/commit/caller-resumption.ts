/**
 * Resumes callers whose commit is done in the order of their commits, a bounded number in each turn of the event loop.
 * After a slow sync hundreds have waited for the same group; resuming all of them in one turn would keep timers and
 * sockets waiting for tens of milliseconds.
 */
import { limits } from '../api/limits.ts';
import type { Timers } from '../model/ports.ts';

interface WaitingCaller {
  resume(): void;
  operations: number;
}

export class CallerResumption {
  #waiting: WaitingCaller[] = [];
  #nextIndex = 0;
  #scheduled = false;
  readonly #timers: Timers;
  readonly #onAllResumed: () => void;

  /** `onAllResumed` is called when it took several turns to resume all callers. */
  constructor(timers: Timers, onAllResumed: () => void) {
    this.#timers = timers;
    this.#onAllResumed = onAllResumed;
  }

  get pending(): boolean {
    return this.#scheduled;
  }

  /** `operations`: messages that the caller has just moved, an estimate of how much it does next. */
  add(resume: () => void, operations: number): void {
    this.#waiting.push({ resume, operations });
  }

  /** To be called once all callers of a group were added. */
  start(): void {
    if (!this.#scheduled) this.#resumeSome();
  }

  readonly #resumeSome = (): void => {
    const tookSeveralTurns = this.#scheduled;
    this.#scheduled = false;
    for (let operations = 0; this.#nextIndex < this.#waiting.length; ) {
      if (operations >= limits.resumedOperationsPerTurnMax) {
        this.#scheduled = true;
        this.#timers.nextTurn(this.#resumeSome);
        return;
      }
      const waiting = this.#waiting[this.#nextIndex]!;
      this.#nextIndex += 1;
      operations += waiting.operations;
      waiting.resume();
    }
    this.#waiting = [];
    this.#nextIndex = 0;
    if (tookSeveralTurns) this.#onAllResumed();
  };
}
