/**
 * The locks of the global transactions that have this instance as their home: at most one branch of a transaction has a call
 * under way, on whichever instance. Requests are served in the order in which they came.
 */
import { QueueError } from '../../api/errors.ts';
import type { Timer, Timers } from '../../model/ports.ts';

export interface LockOptions {
  /** How long to wait for the lock, ms. */
  waitMs: number;
  /** The lock expires after this time, ms, because its holder may hang. */
  holdMs: number;
  /** False: the request is refused at once if another holder has the lock, because waiting could close a cycle. */
  mayWait: boolean;
}

/** A request of one holder, from `request` until `release`. */
export class LockRequest {
  readonly transaction: string;
  /** Rejects with `XA_RBTIMEOUT`, `XA_RBDEADLOCK`, and with why the instance has ended. */
  readonly granted: Promise<void>;
  isGranted = false;
  timer: Timer | undefined;
  readonly #locks: TransactionLocks;
  readonly #answer = Promise.withResolvers<void>();

  constructor(locks: TransactionLocks, transaction: string) {
    this.#locks = locks;
    this.transaction = transaction;
    this.granted = this.#answer.promise;
    this.granted.catch(() => undefined); // its requester may have gone
  }

  grant(): void {
    this.isGranted = true;
    this.#answer.resolve();
  }

  refuse(error: QueueError): void {
    this.#answer.reject(error);
    this.release();
  }

  /** Gives up the lock, or waiting for it. May be called again. */
  release(): void {
    this.timer?.cancel();
    this.isGranted = false;
    this.#locks.remove(this);
  }
}

export class TransactionLocks {
  readonly #timers: Pick<Timers, 'after'>;
  /** Requests by transaction, oldest first: the first one has the lock. */
  readonly #requests = new Map<string, { request: LockRequest; holdMs: number }[]>();

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
  }

  request(transaction: string, { waitMs, holdMs, mayWait }: LockOptions): LockRequest {
    const request = new LockRequest(this, transaction);
    const queue = this.#requests.get(transaction) ?? [];
    this.#requests.set(transaction, queue);
    queue.push({ request, holdMs });
    if (queue.length === 1) this.#grantFirst(queue);
    else if (!mayWait) request.refuse(new QueueError('XA_RBDEADLOCK'));
    else {
      const timedOut = () =>
        new QueueError('XA_RBTIMEOUT', {
          message: `The branch waited over ${waitMs} ms for the lock of its transaction`,
          details: { lockWaitMs: waitMs },
        });
      request.timer = this.#timers.after(waitMs, () => request.refuse(timedOut()));
    }
    return request;
  }

  isFree(transaction: string): boolean {
    return !this.#requests.has(transaction);
  }

  #grantFirst(queue: readonly { request: LockRequest; holdMs: number }[]): void {
    const { request, holdMs } = queue[0]!;
    request.timer?.cancel();
    request.timer = this.#timers.after(holdMs, () => request.release());
    request.grant();
  }

  remove(request: LockRequest): void {
    const queue = this.#requests.get(request.transaction);
    const index = queue?.findIndex((entry) => entry.request === request) ?? -1;
    if (queue === undefined || index < 0) return;
    queue.splice(index, 1);
    if (queue.length === 0) this.#requests.delete(request.transaction);
    else if (index === 0) this.#grantFirst(queue);
  }

  /** Refuses all who wait: the instance has ended. */
  refuseAll(error: QueueError): void {
    for (const queue of [...this.#requests.values()])
      for (const { request } of queue.slice(1)) request.refuse(error);
  }
}
