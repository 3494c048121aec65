/**
 * The branches of distributed transactions on one instance. A prepared one is a row of the instance's file and nothing else: its
 * messages get their numbers when it commits (`docs/decisions/xa.md`).
 */

import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { XaBranchPlace, XaCommitOptions, XaResource, XaStartOptions, XaVote, Xid } from '../api/xa.ts';
import type { RowLockWaits } from '../commit/row-lock-waits.ts';
import { isDeliveryOf } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { assertFields } from '../model/call-arguments.ts';
import { xaCommitFields, xaPlaceFields } from '../model/call-fields.ts';
import type { Seq, SessionNumber } from '../model/ids.ts';
import { inBackground } from '../model/invariant.ts';
import type { PassedOnAnswer, PassedOnCall } from '../model/passed-on-call.ts';
import type { Ports } from '../model/ports.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import { xaError } from '../model/xa-error.ts';
import type { PreparedBranchRow } from '../model/xa-rows.ts';
import { validateXid, xidKey } from '../model/xid.ts';
import type { ShardedTransaction } from '../queues/sharded-transaction.ts';
import { Branch, type BranchWork } from './branch.ts';
import { branchStateNames } from './branch-life.ts';
import { BranchWrites, type BranchWritesOptions } from './branch-writes.ts';
import type { PassedOnCalls } from './passed-on-calls.ts';
import type { HomeInstances } from './tight/home-instances.ts';
import { createTightBranch, type LockWaiter, noSession } from './tight/tight-branch.ts';

export interface BranchesOptions extends Omit<BranchWritesOptions, 'clock' | 'preparedBytes'> {
  rowLockWaits: RowLockWaits;
  homeInstances: HomeInstances;
  passedOn: PassedOnCalls;
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** Throws `SQL_ELSEWHERE` unless the application's tables are in this instance's file. */
  assertHasTables(): void;
}

export class Branches implements XaResource {
  readonly #options: BranchesOptions;
  readonly #branches = new Map<string, Branch>();
  /** The same by global transaction. */
  readonly #byTransaction = new Map<string, Set<Branch>>();
  /** Bytes in memory of those that are prepared. */
  #preparedBytes = 0;
  readonly #writes: BranchWrites;

  constructor(options: BranchesOptions) {
    this.#options = options;
    this.#writes = new BranchWrites({
      ...options,
      clock: options.ports.clock,
      preparedBytes: () => this.#preparedBytes,
    });
  }

  /** Whether a branch with this xid's key has not ended. */
  has(key: string): boolean {
    return this.#branches.has(key);
  }

  /** Branches of any state. */
  get size(): number {
    return this.#branches.size;
  }

  /** Whether a branch in doubt has this message. */
  holds(cursor: SubscriberCursor, seq: Seq): boolean {
    const isHeld = isDeliveryOf(cursor, seq);
    return [...this.#branches.values()].some(({ prepared }) => prepared?.deliveries.some(isHeld) ?? false);
  }

  /** Holds the messages of branches that were prepared before the instance opened. Nothing may have been delivered yet. */
  recoverPrepared(prepared: readonly PreparedBranchRow[]): void {
    for (const row of prepared) {
      const { formatId, gtrid, bqual } = row;
      const branch = new Branch(validateXid({ formatId, gtrid, bqual }));
      branch.apply('recover');
      this.#writes.restore(branch, row);
      this.#preparedBytes += bytesOf(branch);
      this.#add(branch);
    }
  }

  #add(branch: Branch): void {
    this.#branches.set(branch.key, branch);
    const ofTransaction = this.#byTransaction.get(branch.transactionKey);
    if (ofTransaction === undefined) this.#byTransaction.set(branch.transactionKey, new Set([branch]));
    else ofTransaction.add(branch);
  }

  /** A new branch, for a session to work in. Throws `XAER_DUPID`, `XAER_INVAL`, and `XAER_RMERR` if there are too many. */
  start(given: Xid, options: XaStartOptions = {}): Branch {
    const { timeoutMs = limits.xaTimeoutMsDefault } = options;
    const branch = new Branch(validateXid(given));
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > limits.xaTimeoutMsMax) {
      throw new QueueError('XAER_INVAL', { message: `timeoutMs must be 1 to ${limits.xaTimeoutMsMax}` });
    }
    if (this.#branches.has(branch.key)) throw new QueueError('XAER_DUPID');
    const { branchesMax } = limits;
    if (this.#branches.size >= branchesMax) throw new QueueError('XAER_RMERR', { details: { branchesMax } });
    branch.timeoutMs = timeoutMs;
    branch.tight = createTightBranch(branch, this.#options.homeInstances, options);
    branch.apply('start');
    this.#add(branch);
    this.#startTimer(branch);
    return branch;
  }

  newTransaction(session: SessionNumber, time: RecordedTime): ShardedTransaction {
    return this.#options.transactions.beginTransaction(session, time);
  }

  /** Throws `XAER_NOTA`, `XAER_INVAL`. */
  find(xid: Xid): Branch {
    const branch = this.#branches.get(xidKey(validateXid(xid)));
    if (branch === undefined) throw new QueueError('XAER_NOTA');
    return branch;
  }

  /** The branches of a global transaction that are on this instance. */
  ofTransaction(transactionKey: string): Branch[] {
    return [...(this.#byTransaction.get(transactionKey) ?? [])];
  }

  /** Undoes the work of a branch that can only be rolled back from now on: the next call about it gets `code`. */
  async undo(branch: Branch, work: BranchWork, code: NonNullable<Branch['rollbackCode']>): Promise<void> {
    branch.rollbackCode = code;
    branch.work = undefined;
    branch.tight?.abandon();
    this.#startTimer(branch); // a transaction manager that never asks must not keep it in memory
    await work.transaction.rollback();
  }

  /** The session that works in the branch has closed: there is nothing left to prepare. */
  async discard(branch: Branch, work: BranchWork): Promise<void> {
    this.#finish(branch);
    await work.transaction.rollback();
  }

  #startTimer(branch: Branch): void {
    branch.timer?.cancel();
    branch.timer = this.#options.ports.timers.after(branch.timeoutMs, () => this.#onTimeout(branch));
  }

  #onTimeout(branch: Branch): void {
    if (branch.state === 'rollbackOnly') this.#finish(branch);
    else if (branch.can('expire')) {
      branch.apply('expire');
      branch.rollbackCode = 'XA_RBTIMEOUT';
      const { work } = branch;
      if (work !== undefined) inBackground(this.undo(branch, work, 'XA_RBTIMEOUT'));
    }
  }

  #finish(branch: Branch): void {
    branch.apply('finish');
    this.#forgetInMemory(branch);
  }

  #forgetInMemory(branch: Branch): void {
    branch.timer?.cancel();
    branch.tight?.abandon();
    this.#branches.delete(branch.key);
    const ofTransaction = this.#byTransaction.get(branch.transactionKey);
    if (ofTransaction?.delete(branch) && ofTransaction.size === 0)
      this.#byTransaction.delete(branch.transactionKey);
    this.#preparedBytes -= bytesOf(branch);
    branch.prepared = undefined;
    this.#options.rowLockWaits.release(branch.key);
  }

  /** Throws the code of a branch that can only be rolled back, and forgets the branch. */
  #assertNotRollbackOnly(branch: Branch): void {
    if (branch.state !== 'rollbackOnly') return;
    this.#finish(branch);
    throw new QueueError(branch.rollbackCode!);
  }

  async prepare(xid: Xid, place: XaBranchPlace = {}, waiter: LockWaiter = noSession): Promise<XaVote> {
    assertFields(place, xaPlaceFields);
    const { instance } = place;
    const { passedOn } = this.#options;
    if (passedOn.isElsewhere(instance))
      return (await passedOn.send(
        instance,
        { call: 'prepare', xid: validateXid(xid), onePhase: false },
        waiter,
      ))!;
    const branch = this.find(xid);
    this.#assertNotRollbackOnly(branch);
    branch.apply('prepare');
    branch.timer?.cancel();
    const work = branch.work!;
    try {
      if (branch.tight?.isShipped === true && (await branch.tight.prepareShipped(waiter))) {
        this.#finish(branch);
        return 'read-only';
      }
      return await underLock(branch, waiter, () => this.#prepareWork(branch, work, waiter));
    } catch (error) {
      await work.transaction.rollback();
      this.#finish(branch);
      throw xaError(error, rollbackCodeOf(error));
    }
  }

  async #prepareWork(branch: Branch, work: BranchWork, { time }: LockWaiter): Promise<XaVote> {
    const { transaction } = work;
    branch.work = undefined;
    if (transaction.hasStatements) this.#options.assertHasTables(); // they were to be shipped, and are not
    stageAcknowledged(work);
    this.#options.homeInstances.shipped.giveTo(branch, transaction);
    if (transaction.isEmpty || this.#giveToAnother(branch, transaction)) {
      time?.answer();
      this.#finish(branch);
      return 'read-only';
    }
    await this.#options.rowLockWaits.run(() => this.#writes.prepare(branch, transaction, time), {
      time,
      transaction: branch.transactionKey,
    });
    if (branch.prepared === undefined) {
      this.#finish(branch); // its statements have changed no row
      return 'read-only';
    }
    this.#preparedBytes += bytesOf(branch);
    transaction.settleHolds(); // the branch holds their messages from now on
    branch.apply('becomePrepared');
    return 'ok';
  }

  /** Whether another branch of the same transaction that is not prepared yet has taken the work. */
  #giveToAnother(branch: Branch, transaction: ShardedTransaction): boolean {
    for (const other of this.#byTransaction.get(branch.transactionKey) ?? []) {
      if (other.state !== 'ended' && !other.waitsToPrepare) continue;
      if (other.tight?.isShipped === true) continue; // all of its work is elsewhere, or none
      try {
        other.work!.transaction.absorb(transaction);
      } catch (error) {
        if (error instanceof QueueError && error.code === 'TX_TOO_LARGE') return false; // each is prepared by itself
        throw error;
      }
      for (const key of branch.absorbed) other.absorbed.add(key);
      return true;
    }
    return false;
  }

  async commit(xid: Xid, options: XaCommitOptions = {}, waiter: LockWaiter = noSession): Promise<void> {
    assertFields(options, xaCommitFields);
    const { onePhase = false, instance } = options;
    const { passedOn } = this.#options;
    if (passedOn.isElsewhere(instance)) {
      await passedOn.send(instance, { call: 'commit', xid: validateXid(xid), onePhase }, waiter);
      return;
    }
    const branch = this.find(xid);
    this.#assertNotRollbackOnly(branch);
    if (onePhase) await this.#commitOnePhase(branch, waiter);
    else {
      branch.apply('commit');
      await this.#endPrepared(branch, 'XA_RETRY', () => this.#writes.commit(branch, waiter.time));
    }
  }

  async #commitOnePhase(branch: Branch, waiter: LockWaiter): Promise<void> {
    branch.apply('commitOnePhase');
    const work = branch.work!;
    const { transaction } = work;
    let isStaged = false;
    try {
      if (branch.tight?.isShipped === true) await branch.tight.withdraw(waiter);
      await underLock(branch, waiter, async () => {
        if (transaction.hasStatements) this.#options.assertHasTables();
        stageAcknowledged(work);
        this.#options.homeInstances.shipped.giveTo(branch, transaction);
        isStaged = true;
        await transaction.commit();
      });
    } catch (error) {
      if (!isStaged) await transaction.rollback();
      throw xaError(error, rollbackCodeOf(error));
    } finally {
      this.#finish(branch);
    }
  }

  async rollback(xid: Xid, place: XaBranchPlace = {}, waiter: LockWaiter = noSession): Promise<void> {
    assertFields(place, xaPlaceFields);
    const { instance } = place;
    const { passedOn } = this.#options;
    if (passedOn.isElsewhere(instance)) {
      await passedOn.send(instance, { call: 'rollback', xid: validateXid(xid), onePhase: false }, waiter);
      return;
    }
    const branch = this.find(xid);
    const { work } = branch;
    branch.apply('rollback');
    if (branch.prepared !== undefined) {
      await this.#endPrepared(branch, 'XAER_RMERR', () => this.#writes.rollback(branch));
      return;
    }
    this.#forgetInMemory(branch);
    await work?.transaction.rollback();
  }

  /** If the write fails, the branch is prepared as before, or the instance has ended. */
  async #endPrepared(branch: Branch, code: QueueErrorCode, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      branch.apply('retry');
      throw xaError(error, code);
    }
    this.#finish(branch);
  }

  /** Answers a call that another instance has passed on. */
  async answer({ call, xid, onePhase, mayWait }: PassedOnCall): Promise<PassedOnAnswer> {
    const waiter = { time: undefined, mayWaitFor: () => mayWait };
    if (call === 'prepare') return this.prepare(xid, {}, waiter);
    if (call === 'commit') await this.commit(xid, { onePhase }, waiter);
    else await this.rollback(xid, {}, waiter);
    return null;
  }

  async recover(): Promise<Xid[]> {
    const inDoubt = [...this.#branches.values()].filter(({ prepared }) => prepared !== undefined);
    return inDoubt.map(({ xid }) => xid);
  }

  async forget(xid: Xid): Promise<void> {
    const { state } = this.find(xid);
    throw new QueueError('XAER_PROTO', {
      message: `The branch refuses forget: its state is ${branchStateNames[state]}`,
    });
  }

  /** The instance closes. Prepared branches stay in its file. */
  close(): void {
    for (const { timer } of this.#branches.values()) timer?.cancel();
  }
}

const bytesOf = ({ prepared }: Branch): number => prepared?.content.byteLength ?? 0;

/** The code for a branch that is rolled back because of an error of the engine. */
function rollbackCodeOf(error: unknown): 'XA_RBINTEGRITY' | 'XA_RBTIMEOUT' | 'XA_RBOTHER' {
  if (!(error instanceof QueueError)) return 'XA_RBOTHER';
  if (error.code === 'SQL_LOCK_TIMEOUT') return 'XA_RBTIMEOUT';
  const { sqlite } = error.details;
  return typeof sqlite === 'string' && sqlite.startsWith('SQLITE_CONSTRAINT')
    ? 'XA_RBINTEGRITY'
    : 'XA_RBOTHER';
}

/** Does the work under the lock of the branch's global transaction if it is tightly coupled. */
function underLock<T>({ tight }: Branch, waiter: LockWaiter, work: () => Promise<T>): Promise<T> {
  return tight === undefined ? work() : tight.run(waiter, work);
}

/** Throws `RECEIPT_STALE`, `TX_TOO_LARGE`. */
function stageAcknowledged({ transaction, acknowledged }: BranchWork): void {
  for (const { row, receipts } of acknowledged.splice(0)) transaction.acknowledge(row, receipts);
}
