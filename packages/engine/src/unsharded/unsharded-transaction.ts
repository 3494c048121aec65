/** The open transaction of a session on unsharded queues: staged in memory, written and synced by its own commit. */

import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { OutcomeTag, Slab } from '../commit/staged-transaction.ts';
import type { IdRun } from '../model/id-runs.ts';
import { type RecordRun, recordEnd, writeRecord } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { assertTransactionSize, LazyCommitResult, recordBytes } from '../model/session-calls.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { QueueTransaction, TransactionSource, ValidDequeueOptions } from '../queues/queue-engine.ts';
import { type DeliveryEnd, endOfFailedCommit } from '../queues/retries.ts';
import type { TimedHold, TimedHolds } from '../queues/timed-holds.ts';
import type { MessageRouting } from '../storage/unsharded/message-table.ts';
import type { UnshardedChange } from '../storage/unsharded/unsharded-file.ts';
import type { UnshardedDelivery } from './unsharded-delivery.ts';

/** The parts of the engine that a transaction uses. */
export interface UnshardedTransactionEngine extends TransactionSource {
  readonly slab: Slab;
  epochMs(): number;
  readonly holds: TimedHolds<UnshardedDelivery>;
  /** The recipients of a message, if its queue is a topic. Throws `SUBSCRIBER_NOT_FOUND`. */
  routingOf(
    queue: QueueRow,
    message: Pick<NewMessage, 'priority' | 'recipients'>,
  ): MessageRouting | undefined;
  /** Delivers messages; waits for them up to `waitMs`. */
  deliver(
    queue: QueueRow,
    options: ValidDequeueOptions,
    onDelivery: (delivery: UnshardedDelivery) => void,
  ): Promise<Message[]>;
  /** Throws `QUEUE_DROPPED`, `QUEUE_CONVERTED`. */
  assertQueuesExist(change: UnshardedChange): void;
  /** Resolves with the ids of the enqueued messages once the whole change is durable. */
  commit(
    change: UnshardedChange,
    outcome: OutcomeTag | undefined,
    time: RecordedTime | undefined,
  ): Promise<IdRun[]>;
  nack(deliveries: readonly UnshardedDelivery[], end?: DeliveryEnd): Promise<void>;
}

export class UnshardedTransaction implements QueueTransaction {
  readonly source: UnshardedTransactionEngine;
  readonly #consumed: UnshardedDelivery[] = [];
  readonly #change: UnshardedChange = { enqueued: [], consumed: this.#consumed, sync: 'NORMAL' };
  readonly #acknowledged: TimedHold<UnshardedDelivery>[] = [];
  readonly #time: RecordedTime | undefined;
  #bytes = 0;

  constructor(engine: UnshardedTransactionEngine, time: RecordedTime | undefined) {
    this.source = engine;
    this.#time = time;
  }

  enqueue(queue: QueueRow, message: NewMessage): void {
    const bytesNeeded = recordBytes(message);
    const routing = this.source.routingOf(queue, message);
    this.#assertWithinLimits(1, bytesNeeded);
    const { buffer, start } = this.source.slab.reserve(bytesNeeded);
    const end = writeRecord(buffer, start, message, { enqueuedAtMs: this.source.epochMs() });
    this.source.slab.claim(buffer, end);
    this.#change.enqueued.push({ queueId: queue.queueId, record: buffer.subarray(start, end), routing });
    this.#bytes += end - start;
    this.#applyDurability(queue);
  }

  enqueueRecords(queue: QueueRow, { source, start, end, count }: RecordRun): void {
    this.#assertWithinLimits(count, end - start);
    const { buffer, start: at } = this.source.slab.reserve(end - start);
    source.copy(buffer, at, start, end);
    const behind = at + end - start;
    const routing = this.source.routingOf(queue, {});
    this.source.slab.claim(buffer, behind);
    for (let from = at; from < behind; ) {
      const to = recordEnd(buffer, from);
      this.#change.enqueued.push({ queueId: queue.queueId, record: buffer.subarray(from, to), routing });
      from = to;
    }
    this.#bytes += end - start;
    this.#applyDurability(queue);
  }

  #assertWithinLimits(operations: number, bytes: number): void {
    const total = this.#change.enqueued.length + this.#change.consumed.length + operations;
    assertTransactionSize(total, this.#bytes + bytes);
  }

  #applyDurability(queue: QueueRow): void {
    if (queue.durability === 'durable') this.#change.sync = 'FULL';
  }

  async dequeue(queue: QueueRow, options: ValidDequeueOptions): Promise<Message[]> {
    this.#assertWithinLimits(options.max, 0);
    this.#applyDurability(queue);
    return this.source.deliver(queue, options, (delivery) => this.#consumed.push(delivery));
  }

  acknowledge(queue: QueueRow, receipts: readonly string[]): void {
    this.#assertWithinLimits(receipts.length, 0);
    for (const hold of this.source.holds.find(queue, receipts)) {
      this.source.holds.stage(hold);
      this.#acknowledged.push(hold);
      this.#consumed.push(hold.delivery);
    }
    this.#applyDurability(queue);
  }

  get isEmpty(): boolean {
    return this.#change.enqueued.length + this.#change.consumed.length === 0;
  }

  assertQueuesExist(): void {
    this.source.assertQueuesExist(this.#change);
  }

  /** The application's tables are in an instance's file, with its sharded queues. */
  readonly statements = undefined;
  readonly hasReservedWriter = false;

  async commit(outcome?: OutcomeTag): Promise<LazyCommitResult> {
    if (this.isEmpty) return new LazyCommitResult([]);
    let ids: IdRun[];
    try {
      ids = await this.source.commit(this.#change, outcome, this.#time);
    } catch (error) {
      this.#time?.end();
      await this.rollback(endOfFailedCommit(error));
      throw error;
    }
    for (const hold of this.#acknowledged) this.source.holds.settle(hold);
    return new LazyCommitResult(ids);
  }

  /** The keys are stored in an instance's file, this transaction in another. */
  async commitOnce(): Promise<never> {
    await this.rollback();
    throw new QueueError('IDEMPOTENCY_KEY_UNSUPPORTED', {
      message: 'A transaction on unsharded queues cannot have an idempotency key',
    });
  }

  async rollback(end?: DeliveryEnd): Promise<void> {
    const acknowledged = new Set(this.#acknowledged.map((hold) => hold.delivery));
    const own = this.#consumed.filter((delivery) => !acknowledged.has(delivery));
    for (const hold of this.#acknowledged) this.source.holds.unstage(hold);
    await this.source.nack(own, end);
  }
}
