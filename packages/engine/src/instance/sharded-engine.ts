/** The sharded queues of one instance: their shards in memory over the instance's file. */

import { decodeRanges, mergeRanges } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { GroupResult, RecoveredInstance, RecoveredPartition } from '../storage/group-message.ts';
import { instancePath } from '../storage/instance-file.ts';
import { readRecord } from '../storage/message-record.ts';
import type { BrowsedMessage, DequeueOptions, Message, ReceiveOptions, ShardStats } from '../types.ts';
import { BacklogReader } from './backlog-reader.ts';
import { GroupCommit } from './group-commit.ts';
import type { HandOutLease } from './hand-out-lease.ts';
import { MessageCache } from './message-cache.ts';
import type { OutcomeBook } from './outcome-book.ts';
import { PartitionPool } from './partition-pool.ts';
import type { QueueCounts } from './queue-engine.ts';
import type { Delivery, Shard } from './shard.ts';
import { ShardedQueue } from './sharded-queue.ts';
import { type ShardedHost, ShardedTransaction } from './sharded-transaction.ts';
import { Slab } from './slab.ts';
import type { StagedTransaction } from './staged-transaction.ts';
import { WriterThread } from './storage-threads.ts';
import { TimedHolds } from './timed-holds.ts';

/** Group numbers of an epoch start here, so that none comes twice. */
const groupsPerEpoch = 2 ** 32;

export interface ShardedEngineOptions {
  dir: string;
  instance: number;
  cacheBytesMax: number;
  partitionMessagesMax: number;
  emulatedSyncMs: number;
  waits: WaitRecorder;
  /** Remembers the transactions of remote sessions; filled from the file. */
  book: OutcomeBook;
  /** Queues of the catalog at the time of opening: what belongs to another one is removed. */
  queues: readonly QueueRow[];
  onFatal(error: QueueError): void;
  /** Checked before each hand-out; absent where nobody else could have the instance. */
  lease?: HandOutLease | undefined;
}

export class ShardedEngine implements ShardedHost {
  readonly slab = new Slab();
  readonly holds: TimedHolds<Delivery>;
  readonly #options: ShardedEngineOptions;
  readonly #cache: MessageCache;
  readonly #pool: PartitionPool;
  readonly #group: GroupCommit;
  readonly #reader: BacklogReader;
  readonly #writer: WriterThread;
  readonly #epoch: number;
  readonly #queues = new Map<number, ShardedQueue>();
  #holdNo = 0;
  #enqueued = 0;
  #consumed = 0;

  /** Opens or recovers the instance's file. Throws the storage errors, `INSTANCE_FENCED` later on. */
  static async open(options: ShardedEngineOptions): Promise<ShardedEngine> {
    const path = instancePath(options.dir, options.instance);
    const opened: { engine?: ShardedEngine } = {};
    const { writer, recovered } = await WriterThread.start(
      { path, emulatedSyncMs: options.emulatedSyncMs },
      {
        onResult: (result) => opened.engine?.onGroupResult(result),
        onDeath: (error) => opened.engine?.onWriterDeath(error),
      },
    );
    opened.engine = new ShardedEngine(options, path, writer, recovered);
    return opened.engine;
  }

  private constructor(
    options: ShardedEngineOptions,
    path: string,
    writer: WriterThread,
    recovered: RecoveredInstance,
  ) {
    this.#options = options;
    this.#writer = writer;
    this.#epoch = recovered.epoch;
    this.#cache = new MessageCache(options.cacheBytesMax);
    this.#pool = new PartitionPool(
      recovered.free,
      recovered.partitions.map((partition) => partition.partition),
    );
    this.#reader = new BacklogReader(path, options.waits, (shard, error) => {
      const queue = this.#queueOf(shard);
      if (error === undefined) queue?.serve();
      else queue?.waiters.rejectAll(error);
    });
    this.holds = new TimedHolds((holds) => this.giveBack(holds.map((hold) => hold.delivery)));
    this.#group = new GroupCommit({
      firstGroupNo: recovered.epoch * groupsPerEpoch,
      pool: this.#pool,
      book: options.book,
      waits: options.waits,
      send: (group) => writer.send(group),
      onVisible: (shards) => this.#onVisible(shards),
      onFatal: (error) => {
        for (const queue of this.#queues.values()) queue.waiters.rejectAll('INSTANCE_FAILED');
        options.onFatal(error);
      },
    });
    this.#recover(recovered);
  }

  onGroupResult(result: GroupResult): void {
    this.#group.onResult(result);
  }

  onWriterDeath(error: QueueError): void {
    this.#group.fail(error);
  }

  #recover(recovered: RecoveredInstance): void {
    this.#options.book.load(recovered.outcomes, 'instance');
    const byQueue = Map.groupBy(recovered.partitions, (partition) => partition.queueId);
    for (const [queueId, partitions] of byQueue) {
      const row = this.#options.queues.find((queue) => queue.queueId === queueId);
      if (row === undefined) {
        for (const { partition } of partitions) this.#pool.truncate(partition);
        continue;
      }
      const queue = this.#queue(row);
      for (const [no, own] of Map.groupBy(partitions, (partition) => partition.shard)) {
        const shard = queue.addShard(no, { firstSeq: own[0]!.firstSeq, endSeq: endOf(own) });
        for (const { partition, firstSeq, endSeq, bytes, terminal } of own) {
          shard.partitions.assign(partition, firstSeq);
          if (endSeq > firstSeq) shard.partitions.append(endSeq, bytes);
          for (const range of mergeRanges(terminal.flatMap((ranges) => decodeRanges(ranges, firstSeq)))) {
            shard.consumption.add(...range);
          }
        }
        const messages = own.reduce((sum, partition) => sum + partition.messages, 0);
        shard.gaps = shard.committedEnd - shard.firstSeq - messages;
        for (const drained of shard.partitions.takeDrained(shard.consumption.watermark)) {
          this.#pool.truncate(drained.no, shard.partitions);
        }
      }
    }
    if (this.#pool.pending) this.#group.schedule();
  }

  #queue(row: QueueRow): ShardedQueue {
    let queue = this.#queues.get(row.queueId);
    if (queue === undefined) {
      const { instance, waits, partitionMessagesMax } = this.#options;
      queue = new ShardedQueue({
        row,
        instance,
        cache: this.#cache,
        waits,
        partitionMessagesMax,
        epoch: this.#epoch,
      });
      this.#queues.set(row.queueId, queue);
    }
    return queue;
  }

  #queueOf(shard: Shard): ShardedQueue | undefined {
    return this.#queues.get(shard.queueId);
  }

  get totals() {
    return {
      enqueued: this.#enqueued,
      consumed: this.#consumed,
      commits: this.#group.commits,
      groups: this.#group.groups,
    };
  }

  get epoch(): number {
    return this.#epoch;
  }

  get writerCpuUs(): number {
    return this.#writer.cpuUs;
  }

  begin(session: number): ShardedTransaction {
    return new ShardedTransaction(this, session);
  }

  endSession(session: number): void {
    for (const queue of this.#queues.values()) queue.unbind(session);
  }

  shardFor(session: number, row: QueueRow, groupKey: string | undefined): Shard {
    return this.#queue(row).shardFor(session, groupKey);
  }

  async handOut(
    row: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    const queue = this.#queue(row);
    const { lease } = this.#options;
    lease?.assertHeld();
    const take = () => {
      if (lease?.held() === false) return []; // calls that wait are served once it is held again
      const deliveries: Delivery[] = [];
      queue.take({ max: options.max, nextHoldNo: this.#nextHoldNo, out: deliveries });
      for (const shard of queue.shards) this.#reader.ahead(shard);
      return deliveries.map((delivery) => {
        onDelivery(delivery);
        return this.#toMessage(delivery);
      });
    };
    if (queue.waiters.size === 0) {
      const now = take();
      if (now.length > 0) return now;
    }
    if (options.waitMs === 0) {
      // What is there may have to be read first: that is no wait for messages.
      for (
        let read = this.#reader.under(queue.shards);
        read !== undefined;
        read = this.#reader.under(queue.shards)
      ) {
        await read;
        if (!this.#queues.has(row.queueId)) throw new QueueError('QUEUE_DROPPED');
        const now = take();
        if (now.length > 0) return now;
      }
      return [];
    }
    return queue.waiters.wait(take, options.waitMs, options.signal);
  }

  readonly #nextHoldNo = () => {
    this.#holdNo += 1;
    return this.#holdNo;
  };

  #toMessage(delivery: Delivery): Message {
    const { shard, seq, source, start, deliveryCount, holdNo } = delivery;
    const id = `${shard.no}.${seq}`;
    return { id, ...readRecord(source, start), deliveryCount, receipt: `${id}.${this.#epoch}.${holdNo}` };
  }

  receive(
    row: QueueRow,
    options: ReceiveOptions & { max: number; waitMs: number; holdMs: number },
  ): Promise<Message[]> {
    const max = Math.min(options.max, this.holds.assertRoom());
    const pending: Delivery[] = [];
    return this.handOut(row, { ...options, max }, (delivery) => pending.push(delivery)).then((messages) => {
      for (const [index, delivery] of pending.entries()) {
        this.holds.add({ queue: row, delivery, receipt: messages[index]!.receipt }, options.holdMs);
      }
      return messages;
    });
  }

  async release(row: QueueRow, receipts: readonly string[]): Promise<void> {
    const holds = this.holds.find(row, receipts);
    for (const hold of holds) this.holds.end(hold);
    this.giveBack(holds.map((hold) => hold.delivery));
  }

  extend(row: QueueRow, receipts: readonly string[], holdMs: number): void {
    for (const hold of this.holds.find(row, receipts)) this.holds.extend(hold, holdMs);
  }

  giveBack(deliveries: readonly Delivery[]): void {
    const queues = new Set<ShardedQueue>();
    for (const [shard, own] of Map.groupBy(deliveries, (delivery) => delivery.shard)) {
      const queue = this.#queueOf(shard);
      if (queue === undefined) continue; // dropped meanwhile
      shard.giveBack(own);
      queues.add(queue);
    }
    for (const queue of queues) queue.serve();
  }

  async commit(staged: StagedTransaction): Promise<void> {
    const touched = [...staged.runs, ...staged.deliveries];
    if (touched.some(({ shard }) => shard.dropped)) throw new QueueError('QUEUE_DROPPED');
    await this.#group.submit(staged);
    for (const run of staged.runs) this.#enqueued += run.count;
    this.#consumed += staged.deliveries.length;
  }

  #onVisible(shards: Iterable<Shard>): void {
    const queues = new Set<ShardedQueue>();
    for (const shard of shards) {
      const queue = this.#queueOf(shard);
      if (queue !== undefined) queues.add(queue);
    }
    for (const queue of queues) queue.serve();
  }

  /** The lease is held again: serves calls that waited meanwhile. */
  serveAll(): void {
    for (const queue of this.#queues.values()) queue.serve();
  }

  /** Nothing is committed and not consumed, and nothing is on its way. */
  get isEmpty(): boolean {
    const shards = [...this.#queues.values()].flatMap((queue) => queue.shards);
    return this.#group.isIdle && shards.every((shard) => shard.backlog === 0);
  }

  endWaits(error: QueueError): void {
    for (const queue of this.#queues.values()) queue.waiters.rejectAll(error);
  }

  get writerSilentMs(): number {
    return this.#writer.silentMs;
  }

  counts(row: QueueRow): QueueCounts {
    return this.#queue(row).counts();
  }

  shardStats(row: QueueRow): ShardStats[] {
    return this.#queue(row).stats();
  }

  browse(
    row: QueueRow,
    options: { limit: number; after: string | undefined },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    return this.#reader.browse(this.#queue(row), options);
  }

  async drop(row: QueueRow): Promise<void> {
    const queue = this.#queues.get(row.queueId);
    if (queue === undefined) return;
    this.#queues.delete(row.queueId);
    queue.waiters.rejectAll('QUEUE_DROPPED');
    this.holds.endOfQueue(row.queueId);
    for (const shard of queue.shards) shard.dropped = true;
    await this.#group.settled(); // transactions on their way may still name its partitions
    for (const shard of queue.shards) {
      for (const partition of shard.partitions.takeAll()) this.#pool.truncate(partition.no, shard.partitions);
      shard.dispose();
    }
    await this.#group.settled();
  }

  stopDequeue(row: QueueRow): void {
    this.#queues.get(row.queueId)?.waiters.rejectAll('DEQUEUE_STOPPED');
  }

  async close(): Promise<void> {
    for (const queue of this.#queues.values()) queue.waiters.rejectAll('INSTANCE_CLOSED');
    this.holds.close();
    await this.#group.settled();
    await this.#reader.close();
    await this.#writer.close();
  }
}

/** Where the numbers of a shard end: gaps at its end are terminal numbers too, and must not be given again. */
function endOf(partitions: readonly RecoveredPartition[]): number {
  let end = partitions.at(-1)!.endSeq;
  for (const { firstSeq, terminal } of partitions) {
    for (const ranges of terminal) end = Math.max(end, decodeRanges(ranges, firstSeq).at(-1)?.[1] ?? end);
  }
  return end;
}
