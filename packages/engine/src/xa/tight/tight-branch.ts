/**
 * The tight coupling of one branch: each of its calls has the lock of its global transaction, and work that is only messages is
 * shipped to the transaction's home instance, so that this instance has nothing to commit.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { XaStartOptions } from '../../api/xa.ts';
import type { PrepareShippedAnswer, ShipAnswer, UnderLock, WithdrawAnswer } from '../../model/home-calls.ts';
import type { InstanceId, LockToken, SessionNumber } from '../../model/ids.ts';
import type { RecordedTime } from '../../model/wait-recorder.ts';
import type { ShardedTransaction } from '../../queues/sharded-transaction.ts';
import { contentToShip } from './content-to-ship.ts';
import type { HomeInstances } from './home-instances.ts';

/** The session, if any, for which a branch waits for its lock. */
export interface LockWaiter {
  /** Time book of the session; undefined if no session waits. */
  time: RecordedTime | undefined;
  /** Whether it may wait for the lock of this transaction while it keeps the locks that it has. */
  mayWaitFor(transactionKey: string): boolean;
}

/** The waiter for calls of a transaction manager, which are made to the instance without a session and keep no locks. */
export const noSession: LockWaiter = { time: undefined, mayWaitFor: () => true };

export interface TightBranchOptions {
  homeInstances: HomeInstances;
  branch: { key: string; transactionKey: string; timeoutMs: number };
  home: InstanceId;
  lockWaitMs: number;
  /** True: the branch has the lock from its start to its end, not only during its calls. */
  keepsLock: boolean;
}

/** Creates the tight coupling of a new branch; undefined if the branch is loosely coupled. Throws `XAER_INVAL`. */
export function createTightBranch(
  branch: TightBranchOptions['branch'],
  homeInstances: HomeInstances,
  options: XaStartOptions,
): TightBranch | undefined {
  const { coupling = 'loose', home = homeInstances.instance, lock = 'call' } = options;
  const { lockWaitMs = limits.xaLockWaitMsDefault } = options;
  const assert = (isValid: boolean, message: string) => {
    if (!isValid) throw new QueueError('XAER_INVAL', { message });
  };
  assert(coupling === 'loose' || coupling === 'tight', 'coupling must be loose or tight');
  const isTight = coupling === 'tight';
  assert(
    isTight || (options.home === undefined && options.lock === undefined && options.lockWaitMs === undefined),
    'home, lock and lockWaitMs are for a tightly coupled branch',
  );
  const { instancesMax, xaLockWaitMsMax } = limits;
  assert(Number.isInteger(home) && home >= 1 && home <= instancesMax, `home must be 1 to ${instancesMax}`);
  assert(lock === 'call' || lock === 'branch', 'lock must be call or branch');
  assert(
    Number.isInteger(lockWaitMs) && lockWaitMs >= 1 && lockWaitMs <= xaLockWaitMsMax,
    `lockWaitMs must be 1 to ${xaLockWaitMsMax}`,
  );
  return isTight
    ? new TightBranch({ homeInstances, branch, home, lockWaitMs, keepsLock: lock === 'branch' })
    : undefined;
}

export class TightBranch {
  readonly home: InstanceId;
  readonly #options: TightBranchOptions;
  /** Token of the lock that the branch keeps between calls. */
  #keptToken: LockToken | undefined;
  #isShipped = false;

  constructor(options: TightBranchOptions) {
    this.home = options.home;
    this.#options = options;
  }

  get keepsLock(): boolean {
    return this.#keptToken !== undefined;
  }

  /** A copy of its work is at the home instance. */
  get isShipped(): boolean {
    return this.#isShipped;
  }

  /** A session begins to work in the branch. Rejects as `run` does, but with `XAER_RMFAIL` instead of `XA_RBCOMMFAIL`. */
  async enter(waiter: LockWaiter): Promise<void> {
    try {
      if (this.#isShipped) await this.withdraw(waiter);
      if (this.#options.keepsLock) this.#keptToken ??= await this.#lock(waiter);
      else await this.run(waiter, async () => undefined);
    } catch (error) {
      if (!(error instanceof QueueError) || error.code !== 'XA_RBCOMMFAIL') throw error;
      throw new QueueError('XAER_RMFAIL', { message: error.message, cause: error, details: error.details });
    }
  }

  /**
   * Does the work of one call under the lock. Rejects with `XA_RBTIMEOUT` (waited too long), `XA_RBDEADLOCK`, `XA_RBCOMMFAIL` (the
   * home instance does not answer).
   */
  async run<T>(waiter: LockWaiter, work: () => Promise<T>): Promise<T> {
    if (this.#keptToken !== undefined) return work();
    const token = await this.#lock(waiter);
    try {
      return await work();
    } finally {
      this.#unlock(token);
    }
  }

  async #lock({ time, mayWaitFor }: LockWaiter): Promise<number> {
    const { homeInstances, branch, lockWaitMs } = this.#options;
    const token = homeInstances.nextToken();
    const { transactionKey: transaction, timeoutMs: holdMs } = branch;
    const mayWait = mayWaitFor(transaction);
    try {
      await homeInstances.call(
        this.home,
        { call: 'lock', transaction, token, waitMs: lockWaitMs, holdMs, mayWait },
        time,
      );
    } catch (error) {
      this.#unlock(token); // it may have been granted all the same
      throw lockFailure(error);
    }
    return token;
  }

  #unlock(token: LockToken): void {
    this.#options.homeInstances.notify(this.home, { call: 'unlock', token });
  }

  /**
   * A session has ended its work in the branch: ships the work, if it can be shipped as a whole, and gives up a lock that the branch
   * keeps. Rejects as `run` does; then the branch must be rolled back.
   */
  async leave(
    waiter: LockWaiter,
    {
      session,
      transaction,
      acknowledged,
    }: { session: SessionNumber; transaction: ShardedTransaction; acknowledged: readonly unknown[] },
  ): Promise<void> {
    const { homeInstances, branch } = this.#options;
    const work =
      this.home === homeInstances.instance || acknowledged.length > 0
        ? undefined
        : contentToShip(transaction, { instance: homeInstances.instance, session });
    try {
      if (work !== undefined) {
        const call = { call: 'ship', work, holdMs: branch.timeoutMs, ...this.#underLock(waiter) } as const;
        this.#isShipped = true; // it may be, also if no answer comes
        this.#isShipped = (await homeInstances.call<ShipAnswer>(this.home, call, waiter.time)) === 'accepted';
      } else if (this.keepsLock)
        await this.withdraw(waiter); // nothing is shipped: asks whether it still has the lock
      else await this.run(waiter, async () => undefined);
    } catch (error) {
      throw lockFailure(error);
    } finally {
      this.#giveUpLock();
    }
  }

  #underLock({ mayWaitFor }: LockWaiter): UnderLock {
    const { branch, lockWaitMs: waitMs } = this.#options;
    const { transactionKey: transaction, key } = branch;
    const token = this.#keptToken;
    return {
      transaction,
      branch: key,
      waitMs,
      mayWait: mayWaitFor(transaction),
      ...(token !== undefined && { token }),
    };
  }

  /**
   * Call it when the branch prepares. Resolves to true if the home instance has taken over the shipped work. Rejects as `run`
   * does, and with `XA_RBCOMMFAIL` if the home instance has lost the work.
   */
  async prepareShipped(waiter: LockWaiter): Promise<boolean> {
    const call = { call: 'prepareShipped', ...this.#underLock(waiter) } as const;
    let answer: PrepareShippedAnswer;
    try {
      answer = await this.#options.homeInstances.call<PrepareShippedAnswer>(this.home, call, waiter.time);
    } catch (error) {
      throw lockFailure(error);
    }
    if (answer === 'unknown') throw this.#lost();
    this.#isShipped = false;
    return answer === 'taken';
  }

  #lost(): QueueError {
    return new QueueError('XA_RBCOMMFAIL', {
      message: `The home instance ${this.home} has lost the work of the branch`,
      details: { home: this.home },
    });
  }

  /** Takes the shipped copy back. Rejects as `run` does, and with `XAER_PROTO` if a prepared branch has the work already. */
  async withdraw(waiter: LockWaiter): Promise<void> {
    const call = { call: 'withdraw', ...this.#underLock(waiter) } as const;
    let answer: WithdrawAnswer;
    try {
      answer = await this.#options.homeInstances.call<WithdrawAnswer>(this.home, call, waiter.time);
    } catch (error) {
      throw lockFailure(error);
    }
    if (answer === 'absorbed')
      throw new QueueError('XAER_PROTO', {
        message: 'Another branch of the transaction is prepared, and has the work of this one',
      });
    this.#isShipped = false;
  }

  /** The branch has ended, or can only be rolled back: makes its home instance drop the shipped work and the lock. */
  abandon(): void {
    this.#giveUpLock();
    if (!this.#isShipped) return;
    this.#isShipped = false;
    this.#options.homeInstances.notify(this.home, { call: 'withdraw', ...this.#underLock(noSession) });
  }

  #giveUpLock(): void {
    if (this.#keptToken !== undefined) this.#unlock(this.#keptToken);
    this.#keptToken = undefined;
  }
}

const ownCodes = ['XA_RBTIMEOUT', 'XA_RBDEADLOCK', 'XA_RBCOMMFAIL', 'XAER_PROTO'];

/** Every error except those of the lock means that the home instance has failed. */
function lockFailure(error: unknown): unknown {
  if (!(error instanceof QueueError) || ownCodes.includes(error.code)) return error;
  return new QueueError('XA_RBCOMMFAIL', {
    cause: error,
    message: error.message,
    details: { ...error.details, cause: error.code },
  });
}
