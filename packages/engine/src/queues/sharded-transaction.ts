/** The open transaction of a session on sharded queues: what it enqueues and consumes is in memory until the commit. */

import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { ImmediateCommit } from '../commit/immediate-commit.ts';
import type { RowLockWaits } from '../commit/row-lock-waits.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import {
  enqueuedIds,
  newStagedRun,
  newStagedTransaction,
  type OutcomeTag,
  stageMessage,
  stageRecords,
} from '../commit/staged-transaction.ts';
import type { WriterReservation } from '../commit/writer-reservation.ts';
import { type Delivery, isDeliveryOf, traceDelivery } from '../log/delivery.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { Seq, SessionNumber } from '../model/ids.ts';
import type { ChunkedPayload, RecordContent, RecordRun } from '../model/message-record.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { ServiceStateRow } from '../model/service-rows.ts';
import { assertTransactionSize, LazyCommitResult, recordBytes } from '../model/session-calls.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { DelayedMessages } from './delayed-messages.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import { StagedPayloads } from './payloads/staged-payloads.ts';
import type {
  KeyedCommit,
  QueueTransaction,
  TransactionSource,
  ValidDequeueOptions,
} from './queue-engine.ts';
import { type DeliveryEnd, endOfFailedCommit } from './retries.ts';
import type { ShardedQueues } from './sharded-queues.ts';
import type { TimedHold, TimedHolds } from './timed-holds.ts';
import {
  assertRepeatable,
  type EarlyEffects,
  type PreparableContent,
  toPreparable,
} from './transaction-content.ts';
import { transactionFingerprint } from './transaction-fingerprint.ts';
import { TransactionSql } from './transaction-sql.ts';

/** Decides the log of a plain record: it has no group key, recipients or priority. */
const messageWithoutRouting: NewMessage = { payload: '' };

/** Parts of the instance that transactions use. */
export interface ShardedTransactionContext {
  slab: Slab;
  clock: Clock;
  queues: ShardedQueues;
  dispatcher: Dispatcher;
  holds: TimedHolds<Delivery>;
  payloads: PayloadStore;
  delayed: DelayedMessages;
  groupCommit: GroupCommit;
  rowLockWaits: RowLockWaits;
  idempotencyKeys: IdempotencyKeys;
  immediateCommit: ImmediateCommit;
  /** Resolves when the writer is the caller's alone, until its commit or the release of the reservation. */
  reserveWriter(): Promise<WriterReservation>;
}

/** Begins the transactions of an instance's sessions on sharded queues, and counts what they committed. */
export class ShardedTransactions implements TransactionSource {
  readonly context: ShardedTransactionContext;
  enqueued = 0;
  consumed = 0;

  constructor(context: ShardedTransactionContext) {
    this.context = context;
  }

  beginTransaction(session: SessionNumber, time: RecordedTime | undefined): ShardedTransaction {
    return new ShardedTransaction(this, session, time);
  }
}

export class ShardedTransaction implements QueueTransaction {
  readonly source: ShardedTransactions;
  readonly #context: ShardedTransactionContext;
  #session: SessionNumber;
  readonly #staged = newStagedTransaction();
  readonly #acknowledged: TimedHold<Delivery>[] = [];
  /** For each enqueue call, the index of its run, or -1 - the index of its delayed message. */
  readonly #runOfCall: number[] = [];
  #deliveredCount = 0;
  /** Undefined while the transaction has no statements. */
  #statements: TransactionSql | undefined;
  /** Payloads in chunks that are written and wait for the commit. */
  #uploadedPayloads: ChunkedPayload[] | undefined;
  #payloadReferences: StagedPayloads | undefined;

  constructor(source: ShardedTransactions, session: SessionNumber, time: RecordedTime | undefined) {
    this.source = source;
    this.#context = source.context;
    this.#session = session;
    this.#staged.time = time;
    this.#staged.session = session;
  }

  /** Another session continues it: a branch that it has joined. */
  attachTo(session: SessionNumber, time: RecordedTime | undefined): void {
    this.#session = session;
    this.#staged.time = time;
    this.#staged.session = session;
  }

  get statements(): TransactionSql {
    this.#statements ??= new TransactionSql({
      staged: this.#staged,
      assertWithinLimits: (operations, bytes) => this.#assertWithinLimits(operations, bytes),
      reserveWriter: () => this.#context.reserveWriter(),
    });
    return this.#statements;
  }

  enqueue(queue: QueueRow, message: RecordContent): void {
    const bytesNeeded = recordBytes(message);
    this.#assertWithinLimits(1, bytesNeeded);
    const { slab, clock } = this.#context;
    const log = this.#logFor(queue, message);
    if ((message.delayMs ?? 0) > 0) this.#stageDelayed(log, message, bytesNeeded);
    else {
      const index = this.#runIndexFor(log);
      const run = this.#staged.runs[index]!;
      const stamp = { enqueuedAtMs: clock.epochMs() };
      if (message.chunked !== undefined)
        this.#stagedPayloads(message.chunked).addForNextMessage(run, message.chunked);
      this.#staged.bytes += stageMessage({ slab, run, message, bytesNeeded, stamp });
      this.#runOfCall.push(index);
    }
    this.#applyDurability(queue);
  }

  /**
   * Throws `BACKLOG_FULL` if a nonpersistent queue is out of memory, `SUBSCRIBER_NOT_FOUND` if the message names recipients
   * that do not subscribe.
   */
  #logFor(queue: QueueRow, message: NewMessage): MessageLog {
    return this.#context.queues.getOrCreate(queue).logFor(this.#session, message);
  }

  #stagedPayloads(chunked: ChunkedPayload): StagedPayloads {
    this.#uploadedPayloads ??= [];
    this.#uploadedPayloads.push(chunked);
    this.#payloadReferences ??= new StagedPayloads(this.#context.payloads);
    return this.#payloadReferences;
  }

  enqueueRecords(queue: QueueRow, records: RecordRun): void {
    const bytes = records.end - records.start;
    this.#assertWithinLimits(records.count, bytes);
    const index = this.#runIndexFor(this.#logFor(queue, messageWithoutRouting));
    stageRecords(this.#context.slab, this.#staged.runs[index]!, records);
    for (let i = 0; i < records.count; i += 1) this.#runOfCall.push(index);
    this.#staged.bytes += bytes;
    this.#applyDurability(queue);
  }

  #runIndexFor(log: MessageLog): number {
    const { runs } = this.#staged;
    for (let index = runs.length - 1; index >= 0; index -= 1) if (runs[index]!.log === log) return index;
    return runs.push(newStagedRun(log)) - 1;
  }

  #stageDelayed(log: MessageLog, message: RecordContent, bytesNeeded: number): void {
    const { delayed, clock } = this.#context;
    const row = delayed.newRow(log, message, { bytesNeeded, enqueuedAtMs: clock.epochMs() });
    if (message.chunked !== undefined) this.#stagedPayloads(message.chunked).addDelayed(row, message.chunked);
    this.#staged.delayed ??= [];
    this.#staged.delayed.push(row);
    this.#staged.bytes += row.record.byteLength;
    this.#runOfCall.push(-this.#staged.delayed.length);
  }

  #assertWithinLimits(operations: number, bytes: number): void {
    assertTransactionSize(this.#operationCount + operations, this.#staged.bytes + bytes);
  }

  get #operationCount(): number {
    return (
      this.#runOfCall.length +
      this.#deliveredCount +
      (this.#statements?.queryCount ?? 0) +
      (this.#staged.serviceState === undefined ? 0 : 1) +
      (this.#staged.sql?.statements.length ?? 0)
    );
  }

  #applyDurability(queue: QueueRow): void {
    if (queue.durability === 'durable') this.#staged.sync = 'FULL';
  }

  dequeue(row: QueueRow, options: ValidDequeueOptions): Promise<Message[]> {
    this.#assertWithinLimits(options.max, 0);
    this.#applyDurability(row);
    const { queues, dispatcher } = this.#context;
    return dispatcher.deliver(queues.getOrCreate(row), options, this.#addDelivery);
  }

  readonly #addDelivery = (delivery: Delivery): void => {
    this.#staged.deliveries.push(delivery);
    this.#deliveredCount += delivery.count;
  };

  /** Consumes messages that were delivered ahead of it (`ShardedPipeline`). */
  consumeDelivered(row: QueueRow, deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#addDelivery(delivery);
    this.#applyDurability(row);
  }

  holds(cursor: SubscriberCursor, seq: Seq): boolean {
    return this.#staged.deliveries.some(isDeliveryOf(cursor, seq));
  }

  acknowledge(queue: QueueRow, receipts: readonly string[]): void {
    this.#assertWithinLimits(receipts.length, 0);
    for (const hold of this.#context.holds.find(queue, receipts)) {
      this.#context.holds.stage(hold);
      this.#acknowledged.push(hold);
      this.#addDelivery(hold.delivery);
    }
    this.#applyDurability(queue);
  }

  /** Has statements of the application that run at the commit or the prepare. */
  get hasStatements(): boolean {
    return (this.#staged.sql?.statements.length ?? 0) > 0;
  }

  get isEmpty(): boolean {
    return this.#operationCount === 0;
  }

  /** Throws `QUEUE_DROPPED`, `SUBSCRIBER_NOT_FOUND`. */
  assertQueuesExist(): void {
    const { runs, deliveries, delayed } = this.#staged;
    for (const { log } of runs) if (log.dropped) throw new QueueError('QUEUE_DROPPED');
    for (const { cursor } of deliveries) {
      if (cursor.log.dropped) throw new QueueError('QUEUE_DROPPED');
      if (cursor.removed) throw new QueueError('SUBSCRIBER_NOT_FOUND');
    }
    for (const { queueId } of delayed ?? []) {
      if (this.#context.queues.get(queueId) === undefined) throw new QueueError('QUEUE_DROPPED');
    }
  }

  get hasReservedWriter(): boolean {
    return this.#staged.reservation !== undefined;
  }

  writeServiceState(row: ServiceStateRow): void {
    const bytesBefore = this.#staged.serviceState?.state.length ?? 0;
    this.#assertWithinLimits(1, row.state.length - bytesBefore);
    this.#staged.bytes += row.state.length - bytesBefore;
    this.#staged.serviceState = row;
    this.#staged.sync = 'FULL';
  }

  #attempt(): Promise<void> {
    this.assertQueuesExist();
    return this.#context.groupCommit.commit(this.#staged);
  }

  async commit(outcome?: OutcomeTag): Promise<LazyCommitResult> {
    if (this.isEmpty) return new LazyCommitResult([]);
    if (outcome !== undefined) this.#staged.outcome = { ...outcome, runOfCall: this.#runOfCall };
    this.#staged.payloads = this.#payloadReferences?.hooks;
    const { delayed } = this.#staged;
    if (delayed !== undefined)
      this.#staged.onDurable = () => this.#context.delayed.add(delayed, this.#session);
    try {
      this.#staged.reservation?.stopExpiry();
      if (this.#staged.sql === undefined) await this.#attempt();
      else await this.#context.rowLockWaits.run(() => this.#attempt(), this.#staged);
    } catch (error) {
      this.#staged.time?.end();
      await this.rollback(endOfFailedCommit(error));
      throw error;
    }
    this.#onCommitted();
    return new LazyCommitResult(enqueuedIds(this.#staged, this.#runOfCall), this.#staged.sql?.results);
  }

  async commitOnce({ key, acknowledged, stageRest, outcome }: KeyedCommit): Promise<LazyCommitResult> {
    const { idempotencyKeys } = this.#context;
    let committing = false;
    try {
      assertRepeatable(
        this.#staged,
        this.#earlyEffects,
        acknowledged.map(({ row }) => row),
      );
      const fingerprint = transactionFingerprint(
        this.#staged,
        this.#runOfCall,
        acknowledged,
        this.#uploadedPayloads ?? [],
      );
      const keyed = { key, fingerprint, hasStatements: this.#staged.sql !== undefined };
      return await idempotencyKeys.commitOnce(keyed, async () => {
        stageRest();
        this.#staged.keyWrite = () =>
          idempotencyKeys.writeOf(keyed, enqueuedIds(this.#staged, this.#runOfCall));
        committing = true;
        return await this.commit(outcome);
      });
    } finally {
      if (!committing) await this.rollback();
    }
  }

  get #earlyEffects(): EarlyEffects {
    return {
      queryCount: this.#statements?.queryCount ?? 0,
      hasUploads: this.#uploadedPayloads !== undefined,
    };
  }

  /**
   * Commits in memory, before it returns: for what is on queues with immediate visibility only. Throws `QUEUE_DROPPED`,
   * `SUBSCRIBER_NOT_FOUND`, and why the instance has stopped.
   */
  commitNow(): LazyCommitResult {
    this.assertQueuesExist();
    this.#context.immediateCommit.commit(this.#staged);
    this.#onCommitted();
    return new LazyCommitResult(enqueuedIds(this.#staged, this.#runOfCall));
  }

  #onCommitted(): void {
    this.source.enqueued += this.#runOfCall.length;
    this.source.consumed += this.#deliveredCount;
    this.settleHolds();
  }

  /** Its work is durable, so the timed holds of the messages that it acknowledges have ended. */
  settleHolds(): void {
    for (const hold of this.#acknowledged) this.#context.holds.settle(hold);
  }

  /**
   * The content that a prepared branch of a distributed transaction keeps. Throws `XA_UNSUPPORTED` if the content cannot be
   * prepared, `QUEUE_DROPPED`, `SUBSCRIBER_NOT_FOUND`.
   */
  contentToPrepare(): PreparableContent {
    this.assertQueuesExist();
    return toPreparable(this.#staged, this.#earlyEffects);
  }

  /** Takes over the work of another branch of the same distributed transaction, which is then empty. */
  absorb(other: ShardedTransaction): void {
    const { runs, deliveries, delayed, statements } = other.contentToPrepare();
    this.#assertWithinLimits(other.#operationCount, other.#staged.bytes);
    if (statements.length > 0) this.statements.absorb(statements);
    const runIndexes = runs.map(({ log, segments, count }) => {
      const index = this.#runIndexFor(log);
      const run = this.#staged.runs[index]!;
      run.segments.push(...segments);
      run.count += count;
      return index;
    });
    const delayedBefore = this.#staged.delayed?.length ?? 0;
    for (const index of other.#runOfCall)
      this.#runOfCall.push(index < 0 ? index - delayedBefore : runIndexes[index]!);
    this.#staged.deliveries.push(...deliveries);
    this.#deliveredCount += other.#deliveredCount;
    this.#acknowledged.push(...other.#acknowledged);
    if (delayed.length > 0) this.#staged.delayed = [...(this.#staged.delayed ?? []), ...delayed];
    this.#staged.bytes += other.#staged.bytes;
    if (other.#staged.sync === 'FULL') this.#staged.sync = 'FULL';
  }

  async rollback(end?: DeliveryEnd): Promise<void> {
    const { dispatcher, holds, payloads } = this.#context;
    this.#staged.reservation?.release();
    const acknowledged = new Set<Delivery>(this.#acknowledged.map((hold) => hold.delivery));
    const held = this.#staged.deliveries.filter((delivery) => !acknowledged.has(delivery));
    for (const delivery of held) traceDelivery('rolled-back', delivery, { session: this.#session });
    const returned = dispatcher.nack(held, end);
    // The holds of a commit that was refused go on once its caller is told.
    if (returned !== undefined) await returned;
    for (const hold of this.#acknowledged) holds.unstage(hold);
    for (const payload of this.#uploadedPayloads ?? []) payloads.discardPayload(payload);
  }
}
