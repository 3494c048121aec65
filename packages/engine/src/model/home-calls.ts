/**
 * Calls of an instance to the home instance of a tightly coupled global transaction. Calls travel as JSON. `transaction` and
 * `branch` are the keys of `xid.ts`.
 */
import type { InstanceId, LockToken, QueueId, SessionNumber } from './ids.ts';
import type { SqlStatement } from './sql-statement.ts';

export type HomeCall =
  /**
   * Requests the lock of the transaction. Answered with null once the caller has it. The lock expires after `holdMs`. Without
   * `mayWait` the request is refused at once (`XA_RBDEADLOCK`) if another branch has the lock.
   */
  | {
      call: 'lock';
      transaction: string;
      token: LockToken;
      waitMs: number;
      holdMs: number;
      mayWait: boolean;
    }
  /** Gives up the lock, or the request for it. Answered with null. */
  | { call: 'unlock'; token: LockToken }
  /** Leaves a copy of the branch's work at the home instance, for the first of its own branches that prepares. */
  | ({ call: 'ship'; work: ShippedWork; holdMs: number } & UnderLock)
  /** Sent when the branch prepares: asks whether a branch of the home instance commits the shipped work. */
  | ({ call: 'prepareShipped' } & UnderLock)
  /** Discards the shipped copy. */
  | ({ call: 'withdraw' } & UnderLock);

export interface UnderLock {
  transaction: string;
  branch: string;
  /** Token of the lock that the caller has; without one the lock is acquired for the call. */
  token?: LockToken;
  waitMs: number;
  mayWait: boolean;
}

/**
 * Messages that a branch enqueues, and its statements. Messages that it consumes are not shipped: they are in the file of its own
 * instance.
 */
export interface ShippedWork {
  /** The session that enqueued the messages, numbered by its instance. */
  session: SessionNumber;
  instance: InstanceId;
  runs: {
    queueId: QueueId;
    count: number;
    /** One after the other, in base64. */
    records: string;
  }[];
  /** Statements of the application, to be run at the prepare; shipped only to the instance that has the application's tables. */
  statements: readonly SqlStatement[];
}

/** `refused`: the work stays where it is, and the branch is prepared there. */
export type ShipAnswer = 'accepted' | 'refused';

/**
 * `taken`: a branch of the home instance commits the work with its own. `not taken`: none does, and none will. `unknown`: the home
 * instance has lost it, or had it in a branch that has ended.
 */
export type PrepareShippedAnswer = 'taken' | 'not taken' | 'unknown';

/** `absorbed`: a branch that is prepared has the work. */
export type WithdrawAnswer = 'withdrawn' | 'absorbed';

export type HomeAnswer = null | ShipAnswer | PrepareShippedAnswer | WithdrawAnswer;
