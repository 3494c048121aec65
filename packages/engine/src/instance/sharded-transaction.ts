/** The open transaction of a session on sharded queues: messages staged in memory, messages held, until the commit. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { delayedNo } from '../core/shard-number.ts';
import { refused, type SqlStatement } from '../core/sql-statement.ts';
import type { QueueRow } from '../storage/catalog.ts';
import {
  type ChunkedPayload,
  type RecordContent,
  type RecordRun,
  recordBytes,
  writeRecord,
} from '../storage/message-record.ts';
import type { DequeueOptions, Message, NewMessage, SqlResult } from '../types.ts';
import { Committed } from './committed.ts';
import { enqueuedIds } from './enqueued-ids.ts';
import type { Delivery } from './hand-out.ts';
import type { PayloadStore } from './payload-store.ts';
import type { QueueEngine, QueueTransaction } from './queue-engine.ts';
import type { Shard } from './shard.ts';
import type { Slab } from './slab.ts';
import { StagedPayloads } from './staged-payloads.ts';
import {
  newRun,
  type OutcomeTag,
  type StagedTransaction,
  stageMessage,
  stageRecords,
} from './staged-transaction.ts';
import type { TimedHold, TimedHolds } from './timed-holds.ts';
import { assertTransactionSize } from './transaction-room.ts';
import type { WriterHold } from './writer-hold.ts';

/** All that the shard of a plain record depends on. */
const unrouted: NewMessage = { payload: '' };

/** What a transaction needs of the engine that began it. */
export interface ShardedHost extends QueueEngine {
  readonly slab: Slab;
  readonly holds: TimedHolds<Delivery>;
  readonly payloads: PayloadStore;
  /**
   * The shard that a session's message goes to. Throws `BACKLOG_FULL` if a nonpersistent queue is out of memory, and
   * `SUBSCRIBER_NOT_FOUND` if it names recipients that do not subscribe.
   */
  shardFor(session: number, queue: QueueRow, message: NewMessage): Shard;
  /** Numbers of delayed messages, unique in the instance. */
  nextDelayedNo(): number;
  /** Hands messages out, waiting for them if asked to. */
  handOut(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]>;
  /** Throws `QUEUE_DROPPED`, `SUBSCRIBER_NOT_FOUND`. */
  assertThere(staged: StagedTransaction): void;
  /** Resolves when all that was staged is durable and visible: `committed` is to be called then. */
  commit(staged: StagedTransaction): Promise<void>;
  /** Resolves when no commit but the caller's is written any more, until that or the release of the hold. */
  holdWriter(): Promise<WriterHold>;
  committed(staged: StagedTransaction): void;
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
  /** Statements that were answered. */
  #queries = 0;
  /** Payloads in chunks that are written and wait for the commit. */
  readonly #chunked: ChunkedPayload[] = [];
  #payloads: StagedPayloads | undefined;

  constructor(engine: ShardedHost, session: number) {
    this.engine = engine;
    this.#session = session;
  }

  enqueue(queue: QueueRow, message: RecordContent): void {
    const room = recordBytes(message);
    this.#assertRoom(1, room);
    const shard = this.engine.shardFor(this.#session, queue, message);
    if ((message.delayMs ?? 0) > 0) this.#delay(queue, shard, message, room);
    else {
      const index = this.#runFor(shard);
      const run = this.#staged.runs[index]!;
      const stamp = { enqueuedAtMs: Date.now() };
      if (message.chunked !== undefined) this.#stagedPayloads(message.chunked).addNext(run, message.chunked);
      this.#staged.bytes += stageMessage({ slab: this.engine.slab, run, message, room, stamp });
      this.#runOfCall.push(index);
    }
    this.#syncFor(queue);
  }

  #stagedPayloads(chunked: ChunkedPayload): StagedPayloads {
    this.#chunked.push(chunked);
    this.#payloads ??= new StagedPayloads(this.engine.payloads);
    return this.#payloads;
  }

  enqueueRecords(queue: QueueRow, records: RecordRun): void {
    const bytes = records.end - records.start;
    this.#assertRoom(records.count, bytes);
    const index = this.#runFor(this.engine.shardFor(this.#session, queue, unrouted));
    stageRecords(this.engine.slab, this.#staged.runs[index]!, records);
    for (let i = 0; i < records.count; i += 1) this.#runOfCall.push(index);
    this.#staged.bytes += bytes;
    this.#syncFor(queue);
  }

  #runFor(shard: Shard): number {
    const { runs } = this.#staged;
    for (let index = runs.length - 1; index >= 0; index -= 1) if (runs[index]!.shard === shard) return index;
    return runs.push(newRun(shard)) - 1;
  }

  #delay({ queueId }: QueueRow, shard: Shard, message: RecordContent, room: number): void {
    const no = this.engine.nextDelayedNo();
    const enqueuedAtMs = Date.now();
    const stamp = { enqueuedAtMs, id: `${delayedNo(shard.no)}.${no}` };
    const buffer = Buffer.allocUnsafeSlow(room); // travels on its own, so it must not be part of a larger one
    const record = buffer.subarray(0, writeRecord(buffer, 0, message, stamp));
    const dueAtMs = enqueuedAtMs + message.delayMs!;
    if (message.chunked !== undefined) {
      const { payload, bytes } = message.chunked;
      const place = { queueId, shard: delayedNo(shard.no), seq: no };
      this.#stagedPayloads(message.chunked).addDelayed({ ...place, payload, bytes });
    }
    this.#staged.delayed ??= [];
    this.#staged.delayed.push({ dueAtMs, no, queueId, shard: shard.no, record });
    this.#staged.bytes += record.byteLength;
    this.#runOfCall.push(-this.#staged.delayed.length);
  }

  #assertRoom(operations: number, bytes: number): void {
    assertTransactionSize(this.#operations + operations, this.#staged.bytes + bytes);
  }

  get #operations(): number {
    return (
      this.#runOfCall.length + this.#handedOut + this.#queries + (this.#staged.sql?.statements.length ?? 0)
    );
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
    return await this.engine.handOut(queue, options, this.#hold);
  }

  readonly #hold = (delivery: Delivery): void => {
    this.#staged.deliveries.push(delivery);
    this.#handedOut += delivery.count;
  };

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

  get isEmpty(): boolean {
    return this.#operations === 0;
  }

  assertThere(): void {
    this.engine.assertThere(this.#staged);
  }

  get holdsWriter(): boolean {
    return this.#staged.hold !== undefined;
  }

  async query(statement: SqlStatement): Promise<SqlResult> {
    if (this.#staged.sql !== undefined) throw refused('statements staged before it run at the commit only');
    this.#assertRoom(1, 0);
    assertStatements(this.#queries);
    this.#staged.hold ??= await this.engine.holdWriter();
    this.#queries += 1;
    this.#staged.sync = 'FULL';
    return await this.#staged.hold.query(statement);
  }

  execute(statement: SqlStatement, bytes: number): void {
    this.#assertRoom(1, bytes);
    this.#staged.sql ??= { statements: [], results: [] };
    const { statements } = this.#staged.sql;
    assertStatements(statements.length);
    statements.push(statement);
    this.#staged.bytes += bytes;
    this.#staged.sync = 'FULL';
  }

  async commit(outcome?: OutcomeTag): Promise<Committed> {
    if (this.isEmpty) return new Committed([]);
    if (outcome !== undefined) this.#staged.outcome = { ...outcome, runOfCall: this.#runOfCall };
    Object.assign(this.#staged, this.#payloads?.hooks);
    try {
      this.#staged.hold?.keep();
      await this.engine.commit(this.#staged);
    } catch (error) {
      await this.rollback();
      throw error;
    }
    this.engine.committed(this.#staged);
    for (const hold of this.#acknowledged) this.engine.holds.end(hold);
    return new Committed(enqueuedIds(this.#staged, this.#runOfCall), this.#staged.sql?.results);
  }

  async rollback(): Promise<void> {
    this.#staged.hold?.release();
    const acknowledged = new Set<Delivery>(this.#acknowledged.map((hold) => hold.delivery));
    this.engine.giveBack(this.#staged.deliveries.filter((delivery) => !acknowledged.has(delivery)));
    for (const hold of this.#acknowledged) this.engine.holds.unstage(hold);
    for (const payload of this.#chunked) this.engine.discard(payload);
  }
}

function assertStatements(count: number): void {
  const { sqlStatementsMax: statementsMax } = limits;
  if (count >= statementsMax) throw new QueueError('SQL_TOO_LARGE', { details: { statementsMax } });
}
