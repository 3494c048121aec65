/** Calls that wait for messages of one queue, first come first served. Who has messages walks them and settles them. */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { Message } from '../types.ts';

export interface Waiter<Request> {
  readonly request: Request;
  /** Ends the wait. False if it had ended already: then the caller keeps what it wanted to give. */
  settle(outcome: Message[] | QueueError): boolean;
}

export class Waiters<Request> {
  readonly #waiting = new Set<Waiter<Request>>();
  readonly #waits: WaitRecorder;
  #ended: QueueErrorCode | undefined;

  constructor(waits: WaitRecorder) {
    this.#waits = waits;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits up to `waitMs`; an abort or the end of the wait gives an empty list. */
  wait(request: Request, waitMs: number, signal: AbortSignal | undefined): Promise<Message[]> {
    if (this.#ended !== undefined) return Promise.reject(new QueueError(this.#ended));
    if (signal?.aborted) return Promise.resolve([]);
    if (this.#waiting.size >= limits.waitersMax) {
      const sentence = `${limits.waitersMax} calls wait for this queue, as many as may`;
      return Promise.reject(new QueueError('WAITERS_FULL', { sentence }));
    }
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const waiter: Waiter<Request> = {
        request,
        settle: (outcome) => {
          if (!this.#waiting.delete(waiter)) return false;
          clearTimeout(timer);
          signal?.removeEventListener('abort', giveUp);
          this.#waits.record('waiting for messages', performance.now() - startedAt);
          if (outcome instanceof QueueError) reject(outcome);
          else resolve(outcome);
          return true;
        },
      };
      const giveUp = () => waiter.settle([]);
      const timer = setTimeout(giveUp, waitMs);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(waiter);
    });
  }

  /** In the order of their arrival. */
  [Symbol.iterator](): Iterator<Waiter<Request>> {
    return this.#waiting.values();
  }

  rejectAll(reason: QueueErrorCode | QueueError): void {
    const error = reason instanceof QueueError ? reason : new QueueError(reason);
    for (const waiter of this.#waiting) waiter.settle(error);
  }

  /** Rejects all, and whoever would still come: a call may have been on its way here. */
  end(code: QueueErrorCode): void {
    this.#ended = code;
    this.rejectAll(code);
  }
}
