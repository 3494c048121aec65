/**
 * The home instance's end of the calls about its tightly coupled transactions, from one connection of another instance or from its
 * own branches. A connection that ends gives up all locks that were acquired over it.
 */

import { QueueError } from '../../api/errors.ts';
import type { HomeAnswer, HomeCall } from '../../model/home-calls.ts';
import type { LockToken } from '../../model/ids.ts';
import type { ShippedBranches } from './shipped-branches.ts';
import type { LockRequest, TransactionLocks } from './transaction-locks.ts';

type CallUnderLock = Extract<HomeCall, { call: 'ship' | 'prepareShipped' | 'withdraw' }>;

export class HomeCaller {
  readonly #locks: TransactionLocks;
  readonly #shipped: ShippedBranches;
  /** Lock requests by token, granted or not. */
  readonly #requests = new Map<LockToken, LockRequest>();
  readonly #unnamed = new Set<LockRequest>();

  constructor(locks: TransactionLocks, shipped: ShippedBranches) {
    this.#locks = locks;
    this.#shipped = shipped;
  }

  /** Whether a call that needs the lock has to wait for it. */
  wouldWait(call: HomeCall): boolean {
    if (call.call === 'unlock') return false;
    const hasLock = call.call !== 'lock' && call.token !== undefined;
    return !hasLock && !this.#locks.isFree(call.transaction);
  }

  /** Rejects with `XA_RBTIMEOUT`, `XA_RBDEADLOCK`, `XA_RBCOMMFAIL` (the lock was lost), and with why the instance has ended. */
  async call(call: HomeCall): Promise<HomeAnswer> {
    if (call.call === 'unlock') {
      this.#requests.get(call.token)?.release();
      this.#requests.delete(call.token);
      return null;
    }
    if (call.call === 'lock') {
      await this.#lock(call);
      return null;
    }
    return this.#underLock(call);
  }

  async #lock({ transaction, token, ...options }: Extract<HomeCall, { call: 'lock' }>): Promise<void> {
    const request = this.#locks.request(transaction, options);
    this.#requests.set(token, request);
    try {
      await request.granted;
    } catch (error) {
      this.#requests.delete(token);
      throw error;
    }
  }

  async #underLock(call: CallUnderLock): Promise<HomeAnswer> {
    const { transaction, token, waitMs, mayWait } = call;
    if (token !== undefined) {
      if (this.#requests.get(token)?.isGranted !== true)
        throw new QueueError('XA_RBCOMMFAIL', { message: 'The lock of the transaction was lost' });
      return this.#carryOut(call);
    }
    // Held for this turn of the event loop only.
    const request = this.#locks.request(transaction, { waitMs, mayWait, holdMs: waitMs });
    this.#unnamed.add(request);
    try {
      await request.granted;
      return this.#carryOut(call);
    } finally {
      request.release();
      this.#unnamed.delete(request);
    }
  }

  #carryOut(call: CallUnderLock): HomeAnswer {
    const { transaction, branch } = call;
    if (call.call === 'ship') return this.#shipped.ship(transaction, branch, call.work, call.holdMs);
    return this.#shipped[call.call](transaction, branch);
  }

  /** The connection has ended. */
  end(): void {
    const lost = new QueueError('XA_RBCOMMFAIL');
    for (const request of [...this.#requests.values(), ...this.#unnamed]) {
      if (request.isGranted) request.release();
      else request.refuse(lost);
    }
    this.#requests.clear();
  }
}
