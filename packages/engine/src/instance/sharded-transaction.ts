/** The open transaction of a session on sharded queues: messages staged in memory, messages held, until the commit. */
import { limits } from '../core/limits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import { recordBytes, writeRecord } from '../storage/message-record.ts';
import type { DequeueOptions, Message, NewMessage } from '../types.ts';
import { Committed } from './committed.ts';
import { enqueuedIds } from './enqueued-ids.ts';
import type { Delivery } from './hand-out.ts';
import type { CachedRun } from './message-cache.ts';
import type { QueueEngine, QueueTransaction } from './queue-engine.ts';
import type { Shard } from './shard.ts';
import type { Slab } from './slab.ts';
import type { OutcomeTag, StagedRun, StagedTransaction } from './staged-transaction.ts';
import type { TimedHold, TimedHolds } from './timed-holds.ts';
import { assertTransactionSize } from './transaction-room.ts';

/** What a transaction needs of the engine that began it. */
export interface ShardedHost extends QueueEngine {
  readonly slab: Slab;
  readonly holds: TimedHolds<Delivery>;
  /**
   * The shard that a session's message goes to. Throws `BACKLOG_FULL` if a nonpersistent queue is out of memory, and
   * `SUBSCRIBER_NOT_FOUND` if it names recipients that do not subscribe.
   */
  shardFor(session: number, queue: QueueRow, message: NewMessage): Shard;
  /** Hands messages out, waiting for them if asked to. */
  handOut(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]>;
  /** Resolves when all that was staged is durable and visible. */
  commit(staged: StagedTransaction): Promise<void>;
  /** Messages go back to their queues, and to whoever waits there. */
  giveBack(deliveries: readonly Delivery[]): void;
}

export class ShardedTransaction implements QueueTransaction {
  readonly engine: ShardedHost;
  readonly #session: number;
  readonly #staged: StagedTransaction = { runs: [], deliveries: [], bytes: 0, sync: 'NORMAL' };
  readonly #acknowledged: TimedHold<Delivery>[] = [];
  /** For each enqueue call, which run it went to: only kept once there is more than one. */
  readonly #runOfCall: number[] = [];
  #handedOut = 0;

  constructor(engine: ShardedHost, session: number) {
    this.engine = engine;
    this.#session = session;
  }

  enqueue(queue: QueueRow, message: NewMessage): void {
    const room = recordBytes(message);
    this.#assertRoom(1, room);
    const shard = this.engine.shardFor(this.#session, queue, message);
    const { slab } = this.engine;
    const { buffer, start } = slab.reserve(room);
    const end = writeRecord(buffer, start, message, Date.now());
    slab.claim(buffer, end);
    let index = this.#staged.runs.length - 1;
    while (index >= 0 && this.#staged.runs[index]!.shard !== shard) index -= 1;
    if (index < 0) {
      index = this.#staged.runs.length;
      this.#staged.runs.push({ shard, segments: [], count: 0, firstSeq: 0 });
    }
    addRecord(this.#staged.runs[index]!, { firstSeq: 0, count: 1, buffer, start, end, kept: 0 });
    this.#runOfCall.push(index);
    this.#staged.bytes += end - start;
    this.#syncFor(queue);
  }

  #assertRoom(operations: number, bytes: number): void {
    const total = this.#runOfCall.length + this.#handedOut + operations;
    assertTransactionSize(total, this.#staged.bytes + bytes);
  }

  #syncFor(queue: QueueRow): void {
    if (queue.durability === 'durable') this.#staged.sync = 'FULL';
  }

  async dequeue(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
  ): Promise<Message[]> {
    this.#assertRoom(options.max, 0);
    this.#syncFor(queue);
    return this.engine.handOut(queue, options, (delivery) => this.#hold(delivery));
  }

  #hold(delivery: Delivery): void {
    this.#staged.deliveries.push(delivery);
    this.#handedOut += delivery.count;
  }

  acknowledge(queue: QueueRow, receipts: readonly string[]): void {
    this.#assertRoom(receipts.length, 0);
    const holds = this.engine.holds.find(queue, receipts);
    for (const hold of holds) {
      hold.staged = true;
      this.#acknowledged.push(hold);
      this.#hold(hold.delivery);
    }
    this.#syncFor(queue);
  }

  async commit(outcome?: OutcomeTag): Promise<Committed> {
    if (this.#runOfCall.length + this.#handedOut === 0) return new Committed([]);
    if (outcome !== undefined) this.#staged.outcome = { ...outcome, runOfCall: this.#runOfCall };
    try {
      await this.engine.commit(this.#staged);
    } catch (error) {
      await this.rollback();
      throw error;
    }
    for (const hold of this.#acknowledged) this.engine.holds.end(hold);
    return new Committed(enqueuedIds(this.#staged.runs, this.#runOfCall));
  }

  async rollback(): Promise<void> {
    const acknowledged = new Set<Delivery>(this.#acknowledged.map((hold) => hold.delivery));
    this.engine.giveBack(this.#staged.deliveries.filter((delivery) => !acknowledged.has(delivery)));
    for (const hold of this.#acknowledged) this.engine.holds.unstage(hold);
  }
}

/** Extends the last segment where the record follows it in memory, within the size of a block. */
function addRecord(run: StagedRun, record: CachedRun): void {
  run.count += 1;
  const last = run.segments.at(-1);
  if (
    last !== undefined &&
    last.buffer === record.buffer &&
    last.end === record.start &&
    last.count < limits.blockMessagesMax &&
    record.end - last.start <= limits.blockBytesMax
  ) {
    last.end = record.end;
    last.count += 1;
  } else run.segments.push(record);
}
