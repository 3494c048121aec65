/**
 * Lets callers go on whose work is done, first come first served, some in each turn of the event loop: after a slow sync
 * hundreds have waited for the same group, and what all of them do next, one after the other in a single turn, would keep
 * timers and sockets waiting for tens of milliseconds.
 */
import { limits } from '../core/limits.ts';

interface Waiting {
  wake(): void;
  operations: number;
}

export class Wakeups {
  #waiting: Waiting[] = [];
  #next = 0;
  #scheduled = false;
  readonly #onAllAwake: () => void;

  /** `onAllAwake` is called when callers had to be woken in several turns and the last ones are. */
  constructor(onAllAwake: () => void) {
    this.#onAllAwake = onAllAwake;
  }

  get pending(): boolean {
    return this.#scheduled;
  }

  /** `operations` is how many messages the caller has just moved, which tells how much it will do next. */
  add(wake: () => void, operations: number): void {
    this.#waiting.push({ wake, operations });
  }

  /** To be called after some were added. */
  run(): void {
    if (!this.#scheduled) this.#turn();
  }

  readonly #turn = (): void => {
    const waited = this.#scheduled;
    this.#scheduled = false;
    for (let operations = 0; this.#next < this.#waiting.length; ) {
      if (operations >= limits.wakeOperationsMax) {
        this.#scheduled = true;
        setImmediate(this.#turn);
        return;
      }
      const waiting = this.#waiting[this.#next]!;
      this.#next += 1;
      operations += waiting.operations;
      waiting.wake();
    }
    this.#waiting = [];
    this.#next = 0;
    if (waited) this.#onAllAwake();
  };
}
