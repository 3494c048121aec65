/**
 * Calls that wait for nothing resume their callers without a turn of the event loop. A caller in a loop would then starve
 * timers and sockets, so past a number of operations in one turn they resume in the next.
 */
import { limits } from '../api/limits.ts';
import type { Timers } from '../model/ports.ts';

export class TurnBudget {
  readonly #timers: Pick<Timers, 'nextTurn'>;
  #used = 0;
  /** Resolves in the next turn; undefined before the first operation of a turn. */
  #nextTurn: Promise<void> | undefined;

  constructor(timers: Pick<Timers, 'nextTurn'>) {
    this.#timers = timers;
  }

  /** Counts operations. Undefined if their caller may resume now, else resolves when it may. */
  take(operations: number): Promise<void> | undefined {
    this.#used += operations;
    this.#nextTurn ??= new Promise((resolve) => {
      this.#timers.nextTurn(() => {
        this.#used = 0;
        this.#nextTurn = undefined;
        resolve();
      });
    });
    return this.#used > limits.resumedOperationsPerTurnMax ? this.#nextTurn : undefined;
  }
}
