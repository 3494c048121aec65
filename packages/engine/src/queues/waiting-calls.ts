/**
 * The calls that wait for messages of one subscriber of a sharded queue. Any code that learns that messages may be ready triggers
 * serving them.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import { InvariantViolation, ignoreViolation } from '../model/invariant.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import { type WaiterPorts, Waiters } from './waiters.ts';

/** Delivers to a waiting call; an empty result leaves it waiting. Throws why the call can take none. */
export type TakeMessages = () => Message[];

export class WaitingCalls extends Waiters<TakeMessages> {
  readonly #timers: WaiterPorts['timers'];
  /** The next calls are served in the next turn of the event loop. */
  #scheduled = false;

  constructor(waits: WaitRecorder, ports: WaiterPorts) {
    super(waits, ports);
    this.#timers = ports.timers;
  }

  /** Serves calls in order until one gets nothing, a bounded number in each turn of the event loop. */
  serve(): void {
    if (!this.#scheduled) this.#serveSome();
  }

  #serveSome(): void {
    this.#scheduled = false;
    let served = 0;
    for (const waiter of this) {
      if (served >= limits.resumedOperationsPerTurnMax) {
        this.#scheduled = true;
        this.#timers.nextTurn(this.#serveInTurn);
        return;
      }
      let outcome: Message[] | QueueError;
      try {
        outcome = waiter.request();
      } catch (error) {
        if (!(error instanceof QueueError) || error instanceof InvariantViolation) throw error;
        outcome = error; // it cannot take any now
      }
      if (Array.isArray(outcome)) {
        if (outcome.length === 0) return;
        served += outcome.length;
      }
      waiter.finish(outcome);
    }
  }

  /** Set while more calls can be served than one turn serves: resolves after the next turn. */
  get nextServing(): Promise<void> | undefined {
    return this.#scheduled ? new Promise<void>((resolve) => this.#timers.nextTurn(resolve)) : undefined;
  }

  readonly #serveInTurn = (): void => {
    try {
      this.#serveSome();
    } catch (error) {
      ignoreViolation(error);
    }
  };
}
