/** The open transaction of a session on unsharded queues: staged in memory, written and synced by its own commit. */
import { QueueError } from '../core/errors.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { IdRun } from '../storage/id-runs.ts';
import { type RecordRun, recordBytes, recordEnd, writeRecord } from '../storage/message-record.ts';
import type { UnshardedChange } from '../storage/unsharded-file.ts';
import type { DequeueOptions, Message, NewMessage } from '../types.ts';
import { Committed } from './committed.ts';
import type { QueueEngine, QueueTransaction } from './queue-engine.ts';
import type { Slab } from './slab.ts';
import type { OutcomeTag } from './staged-transaction.ts';
import type { TimedHold, TimedHolds } from './timed-holds.ts';
import { assertTransactionSize } from './transaction-room.ts';

/** A message of an unsharded queue in the hands of a session. */
export interface UnshardedDelivery {
  queueId: number;
  id: number;
}

/** What a transaction needs of the engine that began it. */
export interface UnshardedHost extends QueueEngine {
  readonly slab: Slab;
  readonly holds: TimedHolds<UnshardedDelivery>;
  /** Hands messages out, waiting for them if asked to. */
  handOut(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: UnshardedDelivery) => void,
  ): Promise<Message[]>;
  /** Throws `QUEUE_DROPPED`, `QUEUE_CONVERTED`. */
  assertThere(change: UnshardedChange): void;
  /** Resolves with the ids of what was enqueued, once all of the change is durable. */
  commit(change: UnshardedChange, outcome: OutcomeTag | undefined): Promise<IdRun[]>;
  giveBack(deliveries: readonly UnshardedDelivery[]): Promise<void>;
}

export class UnshardedTransaction implements QueueTransaction {
  readonly engine: UnshardedHost;
  readonly #change: UnshardedChange = { enqueued: [], consumed: [], sync: 'NORMAL' };
  readonly #acknowledged: TimedHold<UnshardedDelivery>[] = [];
  #bytes = 0;

  constructor(engine: UnshardedHost) {
    this.engine = engine;
  }

  enqueue(queue: QueueRow, message: NewMessage): void {
    const room = recordBytes(message);
    this.#assertRoom(1, room);
    const { buffer, start } = this.engine.slab.reserve(room);
    const end = writeRecord(buffer, start, message, { enqueuedAtMs: Date.now() });
    this.engine.slab.claim(buffer, end);
    this.#change.enqueued.push({ queueId: queue.queueId, record: buffer.subarray(start, end) });
    this.#bytes += end - start;
    this.#syncFor(queue);
  }

  enqueueRecords(queue: QueueRow, { source, start, end, count }: RecordRun): void {
    this.#assertRoom(count, end - start);
    const { buffer, start: at } = this.engine.slab.reserve(end - start);
    source.copy(buffer, at, start, end);
    const behind = at + end - start;
    this.engine.slab.claim(buffer, behind);
    for (let from = at; from < behind; ) {
      const to = recordEnd(buffer, from);
      this.#change.enqueued.push({ queueId: queue.queueId, record: buffer.subarray(from, to) });
      from = to;
    }
    this.#bytes += end - start;
    this.#syncFor(queue);
  }

  #assertRoom(operations: number, bytes: number): void {
    const total = this.#change.enqueued.length + this.#change.consumed.length + operations;
    assertTransactionSize(total, this.#bytes + bytes);
  }

  #syncFor(queue: QueueRow): void {
    if (queue.durability === 'durable') this.#change.sync = 'FULL';
  }

  async dequeue(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
  ): Promise<Message[]> {
    this.#assertRoom(options.max, 0);
    this.#syncFor(queue);
    return this.engine.handOut(queue, options, (delivery) => this.#change.consumed.push(delivery));
  }

  acknowledge(queue: QueueRow, receipts: readonly string[]): void {
    this.#assertRoom(receipts.length, 0);
    for (const hold of this.engine.holds.find(queue, receipts)) {
      hold.staged = true;
      this.#acknowledged.push(hold);
      this.#change.consumed.push(hold.delivery);
    }
    this.#syncFor(queue);
  }

  get isEmpty(): boolean {
    return this.#change.enqueued.length + this.#change.consumed.length === 0;
  }

  assertThere(): void {
    this.engine.assertThere(this.#change);
  }

  /** The application's tables lie in an instance's file, with its sharded queues. */
  execute(): void {
    throw new QueueError('TX_SPANS_FILES');
  }

  readonly holdsWriter = false;

  async query(): Promise<never> {
    throw new QueueError('TX_SPANS_FILES');
  }

  async commit(outcome?: OutcomeTag): Promise<Committed> {
    if (this.isEmpty) return new Committed([]);
    let ids: IdRun[];
    try {
      ids = await this.engine.commit(this.#change, outcome);
    } catch (error) {
      await this.rollback();
      throw error;
    }
    for (const hold of this.#acknowledged) this.engine.holds.end(hold);
    return new Committed(ids);
  }

  async rollback(): Promise<void> {
    const acknowledged = new Set(this.#acknowledged.map((hold) => hold.delivery));
    const own = this.#change.consumed.filter((delivery) => !acknowledged.has(delivery));
    for (const hold of this.#acknowledged) this.engine.holds.unstage(hold);
    await this.engine.giveBack(own);
  }
}
