/** Sends to a queue that has reached its quota of messages or bytes, in the order of their arrival, until there is room. */
import { QueueError } from '../api/errors.ts';
import type { Timers } from '../model/ports.ts';

interface BlockedSend {
  /** Returns false if there is no room. */
  attempt(): boolean;
  /** Ends the wait. */
  reject(reason: unknown): void;
}

export class BlockedSends {
  readonly #timers: Timers;
  readonly #waiting = new Set<BlockedSend>();
  #isScheduled = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Calls `enqueue` once those before it have succeeded, and again when there may be room if it throws
   * `ENQUEUE_RATE_TOO_HIGH` or `BACKLOG_FULL`. Rejects with that error after `blockMs`, with the reason of `signal` when that
   * is aborted, and with any other error at once.
   */
  async send<T>(enqueue: () => T, { blockMs, signal }: { blockMs: number; signal: AbortSignal }): Promise<T> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let refusal = new QueueError('BACKLOG_FULL', { message: 'Other sends wait for room in the queue' });
    const attempt = (): boolean => {
      try {
        resolve(enqueue());
      } catch (error) {
        if (isRefusal(error)) {
          refusal = error;
          return false;
        }
        reject(error);
      }
      return true;
    };
    if (this.#waiting.size === 0 && attempt()) return await promise;
    const blocked = { attempt, reject };
    const abort = () => reject(signal.reason);
    const timer = this.#timers.deadline(blockMs, () => reject(refusal));
    signal.addEventListener('abort', abort, { once: true });
    this.#waiting.add(blocked);
    try {
      return await promise;
    } finally {
      this.#waiting.delete(blocked);
      timer.cancel();
      signal.removeEventListener('abort', abort);
      this.onRoom(); // those behind it may fit
    }
  }

  rejectAll(error: QueueError): void {
    for (const blocked of this.#waiting) blocked.reject(error);
  }

  /** Messages of the queue were consumed. Tries in the next turn, because a commit is being applied. */
  readonly onRoom = (): void => {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    this.#timers.nextTurn(() => {
      this.#isScheduled = false;
      for (const blocked of this.#waiting) {
        if (!blocked.attempt()) return;
        this.#waiting.delete(blocked);
      }
    });
  };
}

function isRefusal(error: unknown): error is QueueError {
  return (
    error instanceof QueueError && (error.code === 'ENQUEUE_RATE_TOO_HIGH' || error.code === 'BACKLOG_FULL')
  );
}
