/**
 * What becomes of messages that were handed out and not consumed. The hand-out is counted in the file; the message pauses
 * if its queue says so; and one that was handed out as often as its queue allows moves to the exception queue, once, in
 * the commit that ends it in its own.
 */
import type { QueueRow } from '../storage/catalog.ts';
import { idBytesMax, type RecordFields, readId, readRecord, recordEnd } from '../storage/message-record.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Delivery } from './hand-out.ts';
import type { PayloadStore } from './payload-store.ts';
import type { ShardedQueue } from './sharded-queue.ts';
import type { Slab } from './slab.ts';
import { StagedPayloads } from './staged-payloads.ts';
import { newRun, type StagedTransaction, stageMessage } from './staged-transaction.ts';

/** A move that failed, on a full disk say, is tried again after this pause. */
const failedMoveMs = 1_000;
/** No message pauses for longer, however often it came back. */
const pauseMsMax = 60 * 60_000;

export interface AttemptsOptions {
  group: GroupCommit;
  slab: Slab;
  payloads: PayloadStore;
  exceptionQueueOf(row: QueueRow): ShardedQueue | undefined;
  /** Messages are ready again. */
  onReady(queue: ShardedQueue): void;
}

export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Resolves when it is written down that these are being handed out. */
  count(row: QueueRow, deliveries: readonly Delivery[]): Promise<void> {
    return this.#options.group.submit({
      ...nothing,
      sync: row.durability === 'durable' ? 'FULL' : 'NORMAL',
      side: () => attemptsOf(deliveries),
    });
  }

  /** Takes out what was handed out as often as it may before now, and moves it. */
  sift(queue: ShardedQueue, deliveries: readonly Delivery[]): readonly Delivery[] {
    const { attemptsMax } = queue.row;
    if (attemptsMax === null) return deliveries;
    const exhausted = deliveries.filter(({ deliveryCount }) => deliveryCount > attemptsMax);
    if (exhausted.length === 0) return deliveries;
    this.#move(queue, exhausted);
    return deliveries.filter(({ deliveryCount }) => deliveryCount <= attemptsMax);
  }

  /** Hand-outs of one queue that ended without a commit. Those to a subscriber that is gone meanwhile are nobody's. */
  giveBack(queue: ShardedQueue, ended: readonly Delivery[]): void {
    const { attemptsMax, retryDelayMs } = queue.row;
    const deliveries = ended.filter(({ reader }) => !reader.removed);
    const isExhausted = ({ deliveryCount }: Delivery) => attemptsMax !== null && deliveryCount >= attemptsMax;
    const exhausted = deliveries.filter(isExhausted);
    if (exhausted.length > 0) this.#move(queue, exhausted);
    const again = deliveries.filter((delivery) => !isExhausted(delivery));
    if (again.length === 0) return;
    // Where hand-outs are limited they were counted before. Elsewhere a crash may forget this one.
    if (attemptsMax === null) {
      this.#options.group.submit({ ...nothing, side: () => attemptsOf(again) }).catch(() => undefined);
    }
    if (retryDelayMs === 0) giveBack(again);
    else {
      for (const [count, own] of Map.groupBy(again, ({ deliveryCount }) => deliveryCount)) {
        this.#pause(queue, own, Math.min(retryDelayMs * 2 ** (count - 1), pauseMsMax));
      }
    }
  }

  #pause(queue: ShardedQueue, deliveries: readonly Delivery[], ms: number): void {
    const untilMs = Date.now() + ms;
    for (const delivery of deliveries) delivery.reader.pause(delivery, untilMs);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      for (const delivery of deliveries) delivery.reader.resume(delivery);
      giveBack(deliveries);
      this.#options.onReady(queue);
    }, ms).unref();
    this.#timers.add(timer);
  }

  /** They stay held until the commit that moves them. */
  #move(queue: ShardedQueue, deliveries: readonly Delivery[]): void {
    const { group, slab, payloads, exceptionQueueOf } = this.#options;
    const target = exceptionQueueOf(queue.row);
    if (target === undefined) {
      this.#pause(queue, deliveries, failedMoveMs);
      return;
    }
    const run = newRun(target.firstShard);
    const staged = new StagedPayloads(payloads);
    for (const delivery of deliveries) {
      // One that comes out of a crash was on its way to be handed out once more, and was not.
      const attempts = Math.min(delivery.deliveryCount, queue.row.attemptsMax ?? delivery.deliveryCount);
      for (const { id, fields, bytes } of messagesIn(delivery)) {
        const message = withReason(fields, queue.row.name, attempts);
        // A payload in chunks stays where it is: both messages have it until this one is finished.
        if (fields.chunked !== undefined) staged.addNext(run, fields.chunked);
        // With the reason its properties may be more than an enqueue may have: the message moves all the same.
        const room = bytes + 2 + idBytesMax + 4 + Buffer.byteLength(JSON.stringify(message.properties));
        stageMessage({ slab, run, message, room, stamp: { enqueuedAtMs: fields.enqueuedAtMs, id } });
      }
    }
    const bytes = run.segments.reduce((sum, { start, end }) => sum + end - start, 0);
    const sync = queue.row.durability === 'durable' ? 'FULL' : 'NORMAL';
    group
      .submit({ runs: [run], deliveries: [...deliveries], bytes, sync, ...staged.hooks })
      .catch(() => this.#pause(queue, deliveries, failedMoveMs));
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

const nothing = { runs: [], deliveries: [], bytes: 0, sync: 'NORMAL' } satisfies StagedTransaction;

function giveBack(deliveries: readonly Delivery[]): void {
  for (const [reader, own] of Map.groupBy(deliveries, (delivery) => delivery.reader)) reader.giveBack(own);
}

/** What the group that closes now writes of these; nothing of those that only live in memory, or are gone. */
function attemptsOf(deliveries: readonly Delivery[]): SideChange[] {
  const changes: SideChange[] = [];
  for (const { reader, firstSeq, count, deliveryCount } of deliveries) {
    const { shard, subscriber } = reader;
    if (!shard.persistent || shard.dropped || !reader.durable || reader.removed) continue;
    const rows = Array.from({ length: count }, (_, index) => {
      return { subscriber, seq: firstSeq + index, attempts: deliveryCount };
    });
    // They lie in one partition, so all of them were moved aside if one was.
    if (reader.aside.has(firstSeq)) {
      const { queueId, no } = shard;
      for (const row of rows) {
        changes.push({ kind: 'straggler attempts', straggler: { queueId, shard: no, ...row } });
      }
      continue;
    }
    const partition = shard.partitions.locate(firstSeq);
    if (partition === undefined) continue;
    changes.push({ kind: 'attempts', partition: partition.no, rows });
  }
  return changes;
}

function* messagesIn({ reader, run, firstSeq, count, start }: Delivery) {
  let at = start;
  for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
    const id = readId(run.buffer, at) ?? `${reader.shard.no}.${seq}`;
    const end = recordEnd(run.buffer, at);
    yield { id, fields: readRecord(run.buffer, at), bytes: end - at };
    at = end;
  }
}

/** The message as the exception queue keeps it: the same, with where it comes from and why it is here. */
function withReason(
  { priority: _, recipients: __, ...fields }: RecordFields,
  queue: string,
  attempts: number,
) {
  const properties = {
    ...fields.properties,
    'exception-queue-of': queue,
    'exception-reason': `handed out ${attempts === 1 ? 'once' : `${attempts} times`} without being consumed`,
  };
  return { ...fields, properties };
}
