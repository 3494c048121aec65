/**
 * The branches of distributed transactions on one instance. A prepared one is a row of the instance's file and nothing else: its
 * messages get their numbers when it commits (`docs/decisions/xa.md`).
 */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { XaResource, XaStartOptions, XaVote, Xid } from '../api/xa.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { RowLockWaits } from '../commit/row-lock-waits.ts';
import type { StagedSql } from '../commit/staged-transaction.ts';
import type { Delivery } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { mergeRanges, type SeqRange } from '../model/consumption.ts';
import type { EvacuatedRow } from '../model/evacuated-message.ts';
import type { PartitionId } from '../model/ids.ts';
import type { Ports } from '../model/ports.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import { xaError } from '../model/xa-error.ts';
import type { PreparedBranchRow } from '../model/xa-rows.ts';
import { validateXid, xidKey } from '../model/xid.ts';
import type { DelayedMessages } from '../queues/delayed-messages.ts';
import type { Dispatcher } from '../queues/dispatcher.ts';
import type { ShardedQueues } from '../queues/sharded-queues.ts';
import type { ShardedTransaction, ShardedTransactions } from '../queues/sharded-transaction.ts';
import { Branch, type BranchWork } from './branch.ts';
import { encodeBranch, type FindLog, stageBranch } from './branch-content.ts';
import type { Homes } from './tight/homes.ts';
import { type LockWaiter, noSession, tightBranchOf } from './tight/tight-branch.ts';

export interface BranchesOptions {
  groupCommit: GroupCommit;
  queues: ShardedQueues;
  dispatcher: Pick<Dispatcher, 'nack'>;
  delayed: DelayedMessages;
  transactions: ShardedTransactions;
  rowLockWaits: RowLockWaits;
  homes: Homes;
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** Throws `SQL_ELSEWHERE` unless the application's tables are in this instance's file. */
  assertHasTables(): void;
}

export class Branches implements XaResource {
  readonly #options: BranchesOptions;
  readonly #branches = new Map<string, Branch>();
  readonly #findLog: FindLog;

  constructor(options: BranchesOptions) {
    this.#options = options;
    this.#findLog = (queueId, logId) => {
      const log = options.queues.findById(queueId)?.findLog(logId);
      return log?.dropped === true ? undefined : log;
    };
  }

  /** Whether a branch with this xid's key has not ended. */
  has(key: string): boolean {
    return this.#branches.has(key);
  }

  /** Branches of any state. */
  get size(): number {
    return this.#branches.size;
  }

  /** Holds the messages of branches that were prepared before the instance opened. Nothing may have been delivered yet. */
  recoverPrepared(prepared: readonly PreparedBranchRow[]): void {
    for (const { formatId, gtrid, bqual, content, rows: ofApplication } of prepared) {
      const branch = new Branch(validateXid({ formatId, gtrid, bqual }));
      branch.apply('recover');
      const deliveries: Delivery[] = [];
      const { consumed, absorbed } = stageBranch(content, this.#findLog);
      for (const key of absorbed) branch.absorbed.add(key);
      for (const { queueId, log, subscriber, ranges } of consumed) {
        const cursor = this.#findLog(queueId, log)?.cursorOf(subscriber);
        if (cursor !== undefined) deliveries.push(...cursor.holdEvacuated(seqsOf(ranges)));
      }
      branch.prepared = { content, hasRows: ofApplication !== '', deliveries };
      this.#branches.set(branch.key, branch);
    }
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
    branch.tight = tightBranchOf(branch, this.#options.homes, options);
    branch.apply('start');
    this.#branches.set(branch.key, branch);
    this.#startTimer(branch);
    return branch;
  }

  newTransaction(session: number, time: RecordedTime): ShardedTransaction {
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
    return [...this.#branches.values()].filter((branch) => branch.transactionKey === transactionKey);
  }

  /** Undoes the work of a branch that can only be rolled back from now on; the next call about it is told so. */
  async undo(branch: Branch, work: BranchWork, code: NonNullable<Branch['rollbackCode']>): Promise<void> {
    branch.rollbackCode = code;
    branch.work = undefined;
    branch.tight?.abandon();
    this.#startTimer(branch); // a transaction manager that never asks must not keep it in memory
    await work.transaction.rollback();
  }

  /** The session that works in it has closed: there is nothing to prepare any more. */
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
      if (work !== undefined) void this.undo(branch, work, 'XA_RBTIMEOUT');
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
    this.#options.rowLockWaits.release(branch.key);
  }

  /** Answers for a branch that can only be rolled back, which is forgotten. */
  #assertNotRollbackOnly(branch: Branch): void {
    if (branch.state !== 'rollbackOnly') return;
    this.#finish(branch);
    throw new QueueError(branch.rollbackCode!);
  }

  async prepare(xid: Xid, waiter: LockWaiter = noSession): Promise<XaVote> {
    const branch = this.find(xid);
    this.#assertNotRollbackOnly(branch);
    branch.apply('prepare');
    branch.timer?.cancel();
    const work = branch.work!;
    try {
      if (branch.tight?.isShipped === true && (await branch.tight.settle(waiter))) {
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
    this.#options.homes.shipped.giveTo(branch, transaction);
    if (transaction.isEmpty || this.#giveToAnother(branch, transaction)) {
      this.#finish(branch);
      return 'read-only';
    }
    await this.#options.rowLockWaits.run(() => this.#writePrepared(branch, transaction, time), {
      time,
      transaction: branch.transactionKey,
    });
    if (branch.prepared === undefined) {
      this.#finish(branch); // its statements have changed no row
      return 'read-only';
    }
    transaction.settleHolds(); // the branch holds their messages from now on
    branch.apply('becomePrepared');
    return 'ok';
  }

  /** Whether another branch of the same transaction that is not prepared yet has taken the work. */
  #giveToAnother(branch: Branch, transaction: ShardedTransaction): boolean {
    for (const other of this.#branches.values()) {
      if (other.transactionKey !== branch.transactionKey) continue;
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

  async #writePrepared(
    branch: Branch,
    transaction: ShardedTransaction,
    time: RecordedTime | undefined,
  ): Promise<void> {
    const { groupCommit, ports } = this.#options;
    const preparable = transaction.contentToPrepare();
    const { runs, deliveries, delayed, statements } = preparable;
    const content = encodeBranch(preparable, branch.absorbed);
    const row = { ...branch.xid, content, preparedAtMs: ports.clock.epochMs() };
    const evacuated = new Map<SubscriberCursor, SeqRange[]>();
    assertCanEvacuate(deliveries);
    this.#assertCanKeep(content.length);
    const hasMessages = runs.length + deliveries.length + delayed.length > 0;
    const sql: StagedSql | undefined =
      statements.length === 0
        ? undefined
        : { statements: [...statements], results: [], branch: { kind: 'prepare', row, hasMessages } };
    const withoutRows = { kind: 'prepare branch', row: { ...row, rows: '' } } as const;
    await groupCommit.write({
      sync: 'FULL',
      bytes: content.length,
      ...(time !== undefined && { time }),
      terminalRanges: evacuated,
      sql,
      // With statements the writer knows the rows, and writes the branch's row.
      onClose: () => [
        ...evacuationWrites(deliveries, evacuated),
        ...(sql === undefined ? [withoutRows] : []),
      ],
      onDurable: () => {
        for (const [cursor, ranges] of evacuated) cursor.markEvacuated(ranges);
      },
    });
    const hasRows = sql !== undefined && sql.results.length > 0;
    if (hasMessages || hasRows) branch.prepared = { content, hasRows, deliveries: [...deliveries] };
    for (const { log } of evacuated.keys()) groupCommit.truncateDrained(log);
  }

  /** Throws `XA_UNSUPPORTED` if prepared branches have too many bytes in memory. */
  #assertCanKeep(bytes: number): void {
    const { preparedBytesMax } = limits;
    let prepared = bytes;
    for (const branch of this.#branches.values()) prepared += branch.prepared?.content.byteLength ?? 0;
    if (prepared <= preparedBytesMax) return;
    throw new QueueError('XA_UNSUPPORTED', {
      message: `Prepared branches would have over ${preparedBytesMax} bytes in memory`,
      details: { preparedBytesMax },
    });
  }

  async commit(
    xid: Xid,
    { onePhase = false }: { onePhase?: boolean } = {},
    waiter: LockWaiter = noSession,
  ): Promise<void> {
    const branch = this.find(xid);
    this.#assertNotRollbackOnly(branch);
    if (onePhase) await this.#commitOnePhase(branch, waiter);
    else await this.#commitPrepared(branch, waiter);
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
        this.#options.homes.shipped.giveTo(branch, transaction);
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

  async #commitPrepared(branch: Branch, { time }: LockWaiter): Promise<void> {
    const { groupCommit, delayed, transactions } = this.#options;
    branch.apply('commit');
    const { content, hasRows, deliveries } = branch.prepared!;
    const staged = stageBranch(content, this.#findLog);
    const consumed = deliveries.filter(({ cursor }) => !cursor.removed && !cursor.log.dropped);
    await this.#endPrepared(branch, 'XA_RETRY', () =>
      groupCommit.write({
        sync: 'FULL',
        runs: staged.runs,
        deliveries: consumed,
        bytes: content.byteLength,
        ...(time !== undefined && { time }),
        sql: hasRows
          ? { statements: [], results: [], branch: { kind: 'commit', key: branch.xid } }
          : undefined,
        onClose: () => [
          { kind: 'end branch', key: branch.xid },
          ...staged.delayed.map((message) => ({ kind: 'insert delayed', message }) as const),
        ],
      }),
    );
    transactions.enqueued += staged.messages;
    transactions.consumed += consumed.reduce((sum, { count }) => sum + count, 0);
    if (staged.delayed.length > 0) delayed.add(staged.delayed);
  }

  async rollback(xid: Xid): Promise<void> {
    const branch = this.find(xid);
    const { work } = branch;
    branch.apply('rollback');
    if (branch.prepared !== undefined) {
      await this.#rollbackPrepared(branch);
      return;
    }
    this.#forgetInMemory(branch);
    await work?.transaction.rollback();
  }

  /** Without a sync: if a power cut brings the branch back, it is in doubt again, and rolled back again. */
  async #rollbackPrepared(branch: Branch): Promise<void> {
    const { groupCommit, dispatcher } = this.#options;
    await this.#endPrepared(branch, 'XAER_RMERR', () =>
      groupCommit.write({ sync: 'NORMAL', onClose: () => [{ kind: 'end branch', key: branch.xid }] }),
    );
    dispatcher.nack(branch.prepared!.deliveries.filter(({ cursor }) => !cursor.removed));
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

  async recover(): Promise<Xid[]> {
    const inDoubt = [...this.#branches.values()].filter(({ prepared }) => prepared !== undefined);
    return inDoubt.map(({ xid }) => xid);
  }

  async forget(xid: Xid): Promise<void> {
    const { state } = this.find(xid);
    throw new QueueError('XAER_PROTO', { message: `A branch that is ${state} cannot be forgotten` });
  }

  /** The instance closes. Prepared branches stay in its file. */
  close(): void {
    for (const { timer } of this.#branches.values()) timer?.cancel();
  }
}

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

function* seqsIn(ranges: readonly SeqRange[]): Generator<number> {
  for (const [start, end] of ranges) for (let seq = start; seq < end; seq += 1) yield seq;
}

function seqsOf(ranges: readonly SeqRange[]): Set<number> {
  return new Set(seqsIn(ranges));
}

/** Throws `XA_UNSUPPORTED` if a cursor would have too many messages outside of their partitions. */
function assertCanEvacuate(deliveries: readonly Delivery[]): void {
  for (const [cursor, own] of Map.groupBy(deliveries, (delivery) => delivery.cursor)) {
    if (cursor.canEvacuate(own.reduce((sum, { count }) => sum + count, 0))) continue;
    const { evacuatedPerCursorMax } = limits;
    throw new QueueError('XA_UNSUPPORTED', {
      message: `Prepared branches hold over ${evacuatedPerCursorMax} messages of one shard`,
      details: { evacuatedPerCursorMax },
    });
  }
}

/** Copies the messages out of their partitions, as far as they are in one; adds them to `evacuated`. */
function evacuationWrites(
  deliveries: readonly Delivery[],
  evacuated: Map<SubscriberCursor, SeqRange[]>,
): TableWrite[] {
  const rowsByPartition = new Map<PartitionId, Omit<EvacuatedRow, 'record'>[]>();
  for (const { cursor, firstSeq, count, deliveryCount: attempts } of deliveries) {
    const { log, subscriber } = cursor;
    if (cursor.removed || log.dropped) continue;
    const { inPartitions } = cursor.splitEvacuated([[firstSeq, firstSeq + count]]);
    evacuated.set(cursor, mergeRanges([...(evacuated.get(cursor) ?? []), ...inPartitions]));
    for (const seq of seqsIn(inPartitions)) {
      const { id } = log.partitions.partitionOf(seq);
      const rows = rowsByPartition.get(id) ?? [];
      rowsByPartition.set(id, rows);
      rows.push({ queueId: log.queueId, shard: log.id, subscriber, seq, attempts });
    }
  }
  return [...rowsByPartition].map(([partition, rows]) => ({ kind: 'evacuate', partition, rows }));
}
