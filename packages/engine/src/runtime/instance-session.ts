/** A session of an instance in this process: validates the calls and keeps one transaction open, which an engine runs. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message, NewMessage, StreamedMessage } from '../api/message.ts';
import type {
  CommitOptions,
  DequeueOptions,
  ReceiveOptions,
  ReturnOptions,
  Session,
} from '../api/session.ts';
import type { SqlParameters, SqlResult } from '../api/sql.ts';
import type { OutcomeTag } from '../commit/staged-transaction.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { assertName, assertTexts } from '../model/call-arguments.ts';
import { receiveFields } from '../model/call-fields.ts';
import { validateReturn } from '../model/failed-attempts.ts';
import type { InstanceId, Seq, SessionNumber } from '../model/ids.ts';
import type { RecordRun } from '../model/message-record.ts';
import type { ServiceStateRow } from '../model/service-rows.ts';
import {
  assertNewMessage,
  LazyCommitResult,
  refusedInBranch,
  SessionGuard,
  type ValidatedDequeueOptions,
  validateBytesMax,
  validateCommitOptions,
  validateDequeueOptions,
  validateHoldMs,
  validateMessage,
  validateVisibility,
} from '../model/session-calls.ts';
import { validateStatement } from '../model/sql-statement.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type {
  Acknowledgement,
  QueueEngine,
  QueueTransaction,
  TransactionStatements,
  ValidDequeueOptions,
} from '../queues/queue-engine.ts';
import type { ShardedTransaction } from '../queues/sharded-transaction.ts';
import type { BranchWork } from '../xa/branch.ts';
import { ServedBranches } from '../xa/served-branches.ts';
import { SessionBranches } from '../xa/session-branches.ts';
import { PayloadUploads, streamsOf } from './payload-uploads.ts';
import { findForDequeue, findForEnqueue, type SessionContext } from './served-queues.ts';
import { SessionImmediateCalls } from './session-immediate-calls.ts';
import { SessionPipeline } from './session-pipeline.ts';

export class InstanceSession implements Session {
  readonly id: string;
  readonly time: RecordedTime;
  readonly #sessionNumber: SessionNumber;
  readonly #context: SessionContext;
  #transaction: QueueTransaction | undefined;
  /** The same one, while it is that of a branch. */
  #branchTransaction: ShardedTransaction | undefined;
  /** Receipts are checked at the commit: a stale one refuses the whole transaction. */
  #acknowledged: Acknowledgement[] = [];
  /** Whether the open transaction has staged messages. */
  #hasEnqueues = false;
  readonly #guard: SessionGuard;
  #branches: SessionBranches | undefined;
  #immediate: SessionImmediateCalls | undefined;
  #uploads: PayloadUploads | undefined;

  constructor(
    instance: InstanceId,
    sessionNumber: SessionNumber,
    context: SessionContext,
    time: RecordedTime,
  ) {
    this.id = `${instance}.${sessionNumber}`;
    this.#sessionNumber = sessionNumber;
    this.#context = context;
    this.time = time;
    this.#guard = new SessionGuard(this.id);
  }

  /** Whether its open transaction has this message. */
  holds(cursor: SubscriberCursor, seq: Seq): boolean {
    return this.#transaction?.holds?.(cursor, seq) ?? false;
  }

  protected get hasOpenTransaction(): boolean {
    return this.#transaction !== undefined;
  }

  get roundTrips(): number {
    return this.#guard.calls;
  }

  get xa(): SessionBranches {
    this.#branches ??= this.#createBranches();
    return this.#branches;
  }

  #createBranches(): SessionBranches {
    const session = this;
    return new SessionBranches({
      sessionNumber: this.#sessionNumber,
      time: this.time,
      guard: this.#guard,
      branches: new ServedBranches(() => this.#context.branches()),
      get hasWork() {
        return session.#hasWork;
      },
      attach: (work) => this.#attachWork(work),
      detach: () => this.#detachWork(),
    });
  }

  #attachWork({ transaction, acknowledged }: BranchWork): void {
    this.#transaction = transaction;
    this.#branchTransaction = transaction;
    this.#acknowledged = acknowledged;
  }

  #detachWork(): BranchWork {
    const transaction = this.#branchTransaction!;
    this.#branchTransaction = undefined;
    return { session: this.#sessionNumber, transaction, acknowledged: this.#detachTransaction() };
  }

  #assertNotInBranch(call: string): void {
    if (this.#branchTransaction !== undefined) throw refusedInBranch(call);
  }

  enqueue(queue: string, message: NewMessage): void {
    assertNewMessage(message);
    const { row, engine } = this.#findForEnqueueWhenFree(queue);
    validateVisibility(row, 'commit');
    validateMessage(row, message);
    this.#transactionOf(engine).enqueue(row, message);
    this.#hasEnqueues = true;
  }

  async enqueueNow(queue: string, ...messages: NewMessage[]): Promise<LazyCommitResult> {
    for (const message of messages) assertNewMessage(message);
    this.time.answer(); // it waits for nothing but its turn
    return this.immediate.enqueue(queue, messages);
  }

  get immediate(): SessionImmediateCalls {
    this.#immediate ??= new SessionImmediateCalls({
      sessionNumber: this.#sessionNumber,
      guard: this.#guard,
      context: this.#context,
      validateDequeue: (options) => this.#ofSession(validateDequeueOptions(options)),
    });
    return this.#immediate;
  }

  /** Stages messages that a client sent as records: validated (`validateRecord`) and without routing fields. */
  enqueueRecords(queue: string, records: RecordRun): void {
    const { row, engine } = this.#findForEnqueueWhenFree(queue);
    validateVisibility(row, 'commit');
    this.#transactionOf(engine).enqueueRecords(row, records);
    this.#hasEnqueues = true;
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#assertWriterFree('enqueueStream');
    this.#guard.countCall();
    return await this.uploads.enqueueStream(queue, message);
  }

  get uploads(): PayloadUploads {
    this.#uploads ??= new PayloadUploads({
      guard: this.#guard,
      time: this.time,
      findForEnqueue: (queue) => findForEnqueue(this.#context, queue),
      stage: ({ row, engine }, content) => {
        this.#transactionOf(engine).enqueue(row, content);
        this.#hasEnqueues = true;
      },
    });
    return this.#uploads;
  }

  /** The message of a timed hold, whichever session has the hold. */
  async messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    this.#guard.assertFree();
    assertName('receipt', receipt);
    const found = this.#context.findQueue(queue);
    this.#guard.countCall();
    return streamsOf(found).messageOfReceipt(found.row, receipt);
  }

  #findForEnqueueWhenFree(queue: string) {
    this.#guard.assertFree();
    return findForEnqueue(this.#context, queue);
  }

  async dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#assertWriterFree('dequeue');
    const validated = validateDequeueOptions(options);
    const { row, engine } = findForDequeue(this.#context, queue, options.subscriber);
    validateVisibility(row, 'commit');
    const transaction = this.#transactionOf(engine);
    this.#guard.countCall();
    const ofSession = this.#ofSession(validated);
    const dequeuing =
      this.#branchTransaction === undefined
        ? transaction.dequeue(row, ofSession)
        : this.xa.underLock(() => transaction.dequeue(row, ofSession));
    this.#guard.begin(dequeuing);
    try {
      return await dequeuing;
    } finally {
      this.#guard.end();
    }
  }

  async dequeueNow(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#assertWriterFree('dequeueNow');
    return await this.immediate.dequeue(queue, options);
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    this.#assertWriterFree('receive');
    const validated = validateDequeueOptions(options, receiveFields);
    const { row, engine } = findForDequeue(this.#context, queue, options.subscriber);
    const holdMs = validateHoldMs(options.holdMs ?? limits.holdMsDefault);
    if (options.bytesMax !== undefined) validateBytesMax(options.bytesMax);
    this.#guard.countCall();
    return await this.#guard.run(engine.receiver.receive(row, { ...this.#ofSession(validated), holdMs }));
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#guard.assertFree();
    assertTexts('receipts', receipts);
    const { row, engine } = this.#context.findQueue(queue);
    this.#transactionOf(engine);
    this.#acknowledged.push({ row, receipts: [...receipts] });
  }

  execute(sql: string, parameters: SqlParameters = []): void {
    this.#assertWriterFree('execute');
    const { statement, bytes } = validateStatement(sql, parameters);
    this.#statements(this.#branches?.home).execute(statement, bytes);
  }

  async query(sql: string, parameters: SqlParameters = []): Promise<SqlResult> {
    this.#guard.assertFree();
    const { statement } = validateStatement(sql, parameters);
    this.#guard.countCall();
    return await this.#guard.run(this.#statements().query(statement));
  }

  /** Stages what a singleton service keeps: a part of the transaction on sharded queues. */
  writeServiceState(row: ServiceStateRow): void {
    this.#assertWriterFree('writeState');
    this.#assertNotInBranch('writeState');
    this.#transactionOf(this.#context.shardedEngine()).writeServiceState!(row);
  }

  /**
   * Messages of a queue for one consumer of the session, ahead of its calls. They are no part of the transaction until it
   * consumes them. Throws `CONSUMER_UNSUPPORTED`, and what a dequeue throws.
   */
  openPipeline(queue: string, subscriber: string | undefined): SessionPipeline {
    this.#guard.assertOpen();
    const find = () => findForDequeue(this.#context, queue, subscriber);
    const { engine } = find();
    if (engine.pipelines === undefined) throw new QueueError('CONSUMER_UNSUPPORTED');
    return new SessionPipeline({
      pipeline: engine.pipelines.open(this.#sessionNumber),
      find,
      subscriber,
      transaction: () => {
        this.#guard.assertFree();
        return this.#transactionOf(engine);
      },
    });
  }

  /** Ends a wait for messages, which then resolves without messages. */
  stopWait(): void {
    this.#guard.stopWait();
  }

  async release(queue: string, receipts: string[], options?: ReturnOptions): Promise<void> {
    this.#assertWriterFree('release');
    assertTexts('receipts', receipts);
    const how = validateReturn(options);
    const { row, engine } = this.#context.findQueue(queue);
    this.#guard.countCall();
    await this.#guard.run(engine.receiver.release(row, receipts, how));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#guard.assertFree();
    assertTexts('receipts', receipts);
    const { row, engine } = this.#context.findQueue(queue);
    this.#guard.countCall();
    engine.receiver.extend(row, receipts, validateHoldMs(holdMs));
  }

  /** `outcome` identifies the transaction of a remote session; the outcome is stored in the same commit. */
  async commit(options?: CommitOptions, outcome?: OutcomeTag): Promise<LazyCommitResult> {
    this.#guard.assertFree();
    this.#assertNotInBranch('commit');
    const key = validateCommitOptions(options);
    const transaction = this.#transaction;
    if (transaction === undefined) return new LazyCommitResult([]);
    this.#guard.countCall();
    if (key !== undefined) return await this.#guard.run(this.#commitOnce(key, transaction, outcome));
    try {
      this.#closeTransaction(transaction);
    } catch (error) {
      await this.#guard.run(transaction.rollback());
      throw error;
    }
    const committing = transaction.commit(outcome);
    this.#guard.begin(committing);
    try {
      return await committing;
    } finally {
      this.#guard.end();
    }
  }

  #commitOnce(
    key: string,
    transaction: QueueTransaction,
    outcome: OutcomeTag | undefined,
  ): Promise<LazyCommitResult> {
    const enqueues = this.#hasEnqueues;
    const acknowledged = this.#detachTransaction();
    const stageRest = () => this.#stageRest(transaction, acknowledged, enqueues);
    return transaction.commitOnce({ key, acknowledged, stageRest, outcome });
  }

  /** Hands the staged acknowledgements to the transaction and ends it for this session. */
  #closeTransaction(transaction: QueueTransaction): void {
    const enqueues = this.#hasEnqueues;
    this.#stageRest(transaction, this.#detachTransaction(), enqueues);
  }

  /** Throws `INSTANCE_LEAVING`, `RECEIPT_STALE`. */
  #stageRest(
    transaction: QueueTransaction,
    acknowledged: readonly Acknowledgement[],
    enqueues: boolean,
  ): void {
    if (enqueues) this.#context.assertAcceptsMessages();
    for (const { row, receipts } of acknowledged) transaction.acknowledge(row, receipts);
  }

  async rollback(options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    this.#assertNotInBranch('rollback');
    const how = validateReturn(options);
    const transaction = this.#transaction;
    this.#detachTransaction();
    if (transaction === undefined) return;
    this.#guard.countCall();
    await this.#guard.run(transaction.rollback(how));
  }

  /** The next operation begins a new transaction. */
  #detachTransaction(): Acknowledgement[] {
    const acknowledged = this.#acknowledged;
    this.#acknowledged = [];
    this.#transaction = undefined;
    this.#hasEnqueues = false;
    return acknowledged;
  }

  async close(): Promise<void> {
    if (!this.#guard.beginClose()) return;
    await this.#guard.whenIdle();
    try {
      await this.#branches?.close();
      await this.#transaction?.rollback();
    } finally {
      this.#transaction = undefined;
      this.time.close();
      this.#context.onSessionClosed(this.#sessionNumber);
    }
  }

  /** A call that may need the writer would wait for a reservation that this session itself has. */
  #assertWriterFree(call: string): void {
    this.#guard.assertFree();
    if (this.#transaction?.hasReservedWriter) throw new QueueError('WRITER_RESERVED', { details: { call } });
  }

  /** `home`: of a tightly coupled branch, which can have its statements run there. */
  #statements(home?: InstanceId): TransactionStatements {
    const { statements } = this.#transactionOf(this.#context.sqlEngine(home));
    if (statements === undefined) throw new QueueError('TX_SPANS_FILES');
    return statements;
  }

  #transactionOf(engine: QueueEngine): QueueTransaction {
    const open = this.#transaction;
    if (open?.source === engine.transactions) return open;
    if (this.#branchTransaction !== undefined) {
      throw new QueueError('XA_UNSUPPORTED', { message: 'A branch is on persistent sharded queues only' });
    }
    if (open !== undefined && this.#hasWork) {
      open.assertQueuesExist(); // a queue that was dropped and created anew may be in another file
      throw new QueueError('TX_SPANS_FILES');
    }
    this.#transaction = engine.transactions.beginTransaction(this.#sessionNumber, this.time);
    return this.#transaction;
  }

  get #hasWork(): boolean {
    const transaction = this.#transaction;
    return transaction !== undefined && !(transaction.isEmpty && this.#acknowledged.length === 0);
  }

  #ofSession(options: ValidatedDequeueOptions): ValidDequeueOptions {
    const ofSession: ValidDequeueOptions = options;
    ofSession.time = this.time;
    ofSession.session = this.#sessionNumber;
    if (options.waitMs > 0) options.signal = this.#guard.waitSignal(options.signal);
    return ofSession;
  }
}
