/** The sharded queues of one instance: their shards in memory over the instance's file. */

import { QueueError } from '../core/errors.ts';
import { isDelayed } from '../core/shard-number.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueStats } from '../queue-stats.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { GroupResult, RecoveredInstance } from '../storage/group-message.ts';
import { instancePath } from '../storage/instance-file.ts';
import { groupsPerEpoch } from '../storage/last-group.ts';
import type { ChunkedPayload } from '../storage/message-record.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { SubscriberRow } from '../storage/subscriber-table.ts';
import type {
  DequeueOptions,
  Message,
  NewMessage,
  ReceiveOptions,
  ShardStats,
  SubscriberInfo,
} from '../types.ts';
import { Attempts } from './attempts.ts';
import { BacklogReader } from './backlog-reader.ts';
import { type BrowsedPage, type BrowseOptions, browse } from './browse.ts';
import { DelayedMessages } from './delayed-messages.ts';
import { Forwarding } from './forwarding/forwarding.ts';
import { GroupCommit } from './group-commit.ts';
import type { Delivery } from './hand-out.ts';
import type { HandOutLease } from './hand-out-lease.ts';
import { HandOuts } from './hand-outs.ts';
import { MessageCache } from './message-cache.ts';
import { Monitor, thisMoment } from './monitoring/monitor.ts';
import { queueFigures } from './monitoring/queue-figures.ts';
import type { OutcomeBook } from './outcome-book.ts';
import { PartitionPool } from './partition-pool.ts';
import { chunksOf, PayloadStore } from './payload-store.ts';
import { type PayloadSource, PayloadUpload, uploadAll } from './payload-upload.ts';
import type { QueueCounts } from './queue-engine.ts';
import { rangesOf, recoverQueue } from './recovery.ts';
import type { Shard } from './shard.ts';
import type { ShardedQueue } from './sharded-queue.ts';
import { ShardedQueues } from './sharded-queues.ts';
import { type ShardedHost, ShardedTransaction } from './sharded-transaction.ts';
import { Slab } from './slab.ts';
import type { StagedTransaction } from './staged-transaction.ts';
import { WriterThread } from './storage-threads.ts';
import { Stragglers } from './stragglers.ts';
import { SubscriberChanges } from './subscriber-changes.ts';
import { TimedHolds } from './timed-holds.ts';
import { WriterHold } from './writer-hold.ts';

export interface ShardedEngineOptions {
  dir: string;
  instance: number;
  cacheBytesMax: number;
  partitionMessagesMax: number;
  emulatedSyncMs: number;
  sampleMs: number;
  sqlHoldMsMax: number;
  waits: WaitRecorder;
  /** Remembers the transactions of remote sessions; filled from the file. */
  book: OutcomeBook;
  /** Queues of the catalog at the time of opening: what belongs to another one is removed. */
  queues: readonly QueueRow[];
  /** Whether the catalog ever had it: one that it has no more was dropped. */
  knew(what: 'queue' | 'subscriber', id: number): boolean;
  queueById(queueId: number | null): QueueRow | undefined;
  subscribers(queueId: number): readonly SubscriberRow[];
  onFatal(error: QueueError): void;
  /** Checked before each hand-out; absent where nobody else could have the instance. */
  lease?: HandOutLease | undefined;
}

export class ShardedEngine implements ShardedHost {
  readonly slab = new Slab();
  readonly holds: TimedHolds<Delivery>;
  readonly payloads: PayloadStore;
  readonly #options: ShardedEngineOptions;
  readonly #cache: MessageCache;
  readonly #pool: PartitionPool;
  readonly #group: GroupCommit;
  readonly #subscribers: SubscriberChanges;
  readonly #stragglers: Stragglers;
  readonly #attempts: Attempts;
  readonly #handOuts: HandOuts;
  readonly #delayed: DelayedMessages;
  readonly forwarding: Forwarding;
  readonly #reader: BacklogReader;
  readonly #writer: WriterThread;
  readonly #epoch: number;
  readonly #monitor: Monitor;
  readonly #queues: ShardedQueues;
  #delayedNo: number;
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
    try {
      assertCatalogKnows(options, recovered);
      opened.engine = new ShardedEngine(options, path, writer, recovered);
      return opened.engine;
    } catch (error) {
      await writer.close();
      throw error;
    }
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
    const used = recovered.partitions.map((partition) => partition.partition);
    this.#pool = new PartitionPool(recovered.free, [...used, ...recovered.unusable]);
    this.#queues = new ShardedQueues({
      instance: options.instance,
      epoch: this.#epoch,
      cache: this.#cache,
      waits: options.waits,
      partitionMessagesMax: options.partitionMessagesMax,
      queueById: options.queueById,
      onPassed: (shard, seq) => this.payloads.consumed(shard, [[seq, seq + 1]]),
      onMade: (queue) => {
        this.forwarding.add(queue);
        this.#monitor.watch(queue);
      },
    });
    this.#reader = new BacklogReader(path, options.waits, ({ shard }, error) => {
      const queue = this.#queues.ofShard(shard);
      if (error === undefined) queue?.serve();
      else queue?.rejectWaiters(error);
    });
    this.holds = new TimedHolds((holds) => this.giveBack(holds.map((hold) => hold.delivery)));
    this.#group = new GroupCommit({
      firstGroupNo: recovered.epoch * groupsPerEpoch + 1,
      pool: this.#pool,
      book: options.book,
      waits: options.waits,
      send: (group) => writer.send(group),
      release: () => writer.release(),
      onVisible: (shards) => this.#queues.serve(shards),
      onConsumed: ({ shard }, ranges) => this.payloads.consumed(shard, ranges),
      onRolled: (shards) => {
        for (const shard of shards) this.#stragglers.consider(shard);
      },
      onFatal: (error) => {
        this.#queues.rejectWaiters('INSTANCE_FAILED');
        options.onFatal(error);
      },
    });
    this.payloads = new PayloadStore({
      group: this.#group,
      waits: options.waits,
      recovered: recovered.payloads,
      firstPayload: recovered.epoch * groupsPerEpoch,
      readChunk: (place) => this.#reader.chunk(place),
    });
    this.#subscribers = new SubscriberChanges(this.#group, this.holds);
    this.#stragglers = new Stragglers(this.#group);
    this.#attempts = new Attempts({
      group: this.#group,
      slab: this.slab,
      payloads: this.payloads,
      exceptionQueueOf: ({ exceptionQueueId }) => this.#queues.byId(exceptionQueueId),
      onReady: (queue) => queue.serve(),
    });
    this.#handOuts = new HandOuts({
      epoch: this.#epoch,
      payloads: this.payloads,
      lease: options.lease,
      reader: this.#reader,
      holds: this.holds,
      attempts: this.#attempts,
      queueOf: (shard) => this.#queues.ofShard(shard),
    });
    this.#delayedNo = recovered.epoch * groupsPerEpoch;
    this.#delayed = new DelayedMessages({
      group: this.#group,
      slab: this.slab,
      payloads: this.payloads,
      counts: recovered.delayed,
      nextDueAtMs: recovered.nextDueAtMs,
      readDue: (nowMs) => this.#reader.due(nowMs),
      shardOf: (queueId, no) => this.#queues.byId(queueId)?.shard(no),
    });
    this.forwarding = new Forwarding({
      instance: options.instance,
      epoch: this.#epoch,
      group: this.#group,
      slab: this.slab,
      waits: options.waits,
      backlog: this.#reader,
      lease: options.lease,
      lent: recovered.lent,
      borrowed: recovered.borrowed,
      firstBatchNo: recovered.epoch * groupsPerEpoch,
      queueOf: (queueId) => this.#queues.byId(queueId),
      onFatal: (error) => this.fail(error),
    });
    this.#monitor = new Monitor({
      epoch: this.#epoch,
      sampleMs: options.sampleMs,
      group: this.#group,
      queues: () => this.#queues,
      instanceSample: () => ({
        instance: options.instance,
        commits: this.#group.commits,
        groups: this.#group.groups,
        cacheBytes: this.#cache.bytes,
        cacheBytesMax: this.#cache.bytesMax,
      }),
    });
    this.#recover(recovered);
    for (const queue of this.#queues) this.#monitor.watch(queue);
  }

  set cacheBytesMax(bytesMax: number) {
    this.#cache.bytesMax = bytesMax;
  }

  onGroupResult(result: GroupResult): void {
    this.#group.onResult(result);
  }

  onWriterDeath(error: QueueError): void {
    this.fail(error);
  }

  /** Nothing more is committed; all that wait are told. */
  fail(error: QueueError): void {
    this.#group.fail(error);
  }

  #recover(recovered: RecoveredInstance): void {
    const { partitions, subscriptions, stragglers, delayed } = recovered;
    this.#options.book.loadRows(recovered.outcomes);
    const { queues, subscribers, knew } = this.#options;
    for (const [queueId, own] of Map.groupBy(partitions, (partition) => partition.queueId)) {
      const row = queues.find((queue) => queue.queueId === queueId);
      if (row === undefined) {
        for (const { partition } of own) this.#pool.truncate(partition);
        continue;
      }
      const queue = this.#queues.recovered(row, rangesOf(own));
      recoverQueue({
        queue,
        subscribers: subscribers(queueId),
        partitions: own,
        subscriptions,
        stragglers: stragglers.filter((row) => row.queueId === queueId),
      });
      for (const shard of queue.shards) this.#group.truncateDrained(shard);
      this.forwarding.add(queue);
    }
    this.#subscribers.forget(
      subscriptions,
      queues.flatMap((row) => subscribers(row.queueId)),
    );
    // What queues left beside partitions that were dropped while the instance was away.
    const rows = [...stragglers, ...recovered.lent, ...recovered.borrowed];
    const left = new Set([...delayed.keys(), ...rows.map(({ queueId }) => queueId)]);
    for (const { queueId } of queues) left.delete(queueId);
    for (const queueId of left) {
      // If it fails they are forgotten when the instance is opened again.
      if (knew('queue', queueId)) this.#forget(queueId).catch(() => undefined);
    }
    this.payloads.settle((use) => {
      const row = queues.find(({ queueId }) => queueId === use.queueId);
      if (row === undefined) return !knew('queue', use.queueId);
      if (isDelayed(use.shard)) return true;
      const shard = this.#queues.of(row).shard(use.shard);
      // Of what is damaged nobody knows what a repair brings back.
      return shard !== undefined && (shard.partitions.isDamaged || shard.isLive(use.seq));
    });
    if (this.#pool.pending) this.#group.schedule();
  }

  get totals() {
    return {
      enqueued: this.#enqueued,
      consumed: this.#consumed,
      commits: this.#group.commits,
      groups: this.#group.groups,
    };
  }

  /** Of the message cache, over all queues. */
  get cacheBytesMax(): number {
    return this.#cache.bytesMax;
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
    this.#queues.unbind(session);
  }

  shardFor(session: number, row: QueueRow, message: NewMessage): Shard {
    return this.#queues.of(row).shardFor(session, message);
  }

  handOut(
    row: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    return this.#handOuts.handOut(this.#queues.of(row), options, onDelivery);
  }

  receive(
    row: QueueRow,
    options: ReceiveOptions & { max: number; waitMs: number; holdMs: number },
  ): Promise<Message[]> {
    return this.#handOuts.receive(this.#queues.of(row), options);
  }

  async upload(row: QueueRow, source: PayloadSource): Promise<ChunkedPayload | Buffer> {
    if (row.durability === 'memory')
      throw new QueueError('STREAM_UNSUPPORTED', { details: { queue: row.name } });
    return await uploadAll(new PayloadUpload(this.payloads), source);
  }

  discard({ payload, bytes }: ChunkedPayload): void {
    this.payloads.discard(payload, chunksOf(bytes));
  }

  lookUp(row: QueueRow, receipt: string): Message {
    return this.#handOuts.lookUp(row, receipt);
  }

  async release(row: QueueRow, receipts: readonly string[]): Promise<void> {
    this.#handOuts.release(this.#queues.of(row), receipts);
  }

  extend(row: QueueRow, receipts: readonly string[], holdMs: number): void {
    for (const hold of this.holds.find(row, receipts)) this.holds.extend(hold, holdMs);
  }

  giveBack(deliveries: readonly Delivery[]): void {
    this.#handOuts.giveBack(deliveries);
  }

  nextDelayedNo(): number {
    this.#delayedNo += 1;
    return this.#delayedNo;
  }

  assertThere(staged: StagedTransaction): void {
    for (const { shard } of staged.runs) if (shard.dropped) throw new QueueError('QUEUE_DROPPED');
    for (const { reader } of staged.deliveries) {
      if (reader.shard.dropped) throw new QueueError('QUEUE_DROPPED');
      if (reader.removed) throw new QueueError('SUBSCRIBER_NOT_FOUND');
    }
    for (const { queueId } of staged.delayed ?? []) {
      if (this.#queues.get(queueId) === undefined) throw new QueueError('QUEUE_DROPPED');
    }
  }

  commit(staged: StagedTransaction): Promise<void> {
    this.assertThere(staged);
    return this.#group.submit(staged);
  }

  async holdWriter(): Promise<WriterHold> {
    const hold = new WriterHold({
      execute: (statement) => this.#writer.execute(statement),
      release: (ended) => this.#group.release(ended),
    });
    await this.#group.hold(hold);
    hold.begin(this.#options.sqlHoldMsMax);
    return hold;
  }

  committed({ runs, deliveries, delayed }: StagedTransaction): void {
    for (const { count } of runs) this.#enqueued += count;
    for (const { count } of deliveries) this.#consumed += count;
    if (delayed === undefined) return;
    this.#enqueued += delayed.length;
    this.#delayed.add(delayed);
  }

  async subscribe(row: QueueRow, subscribers: readonly SubscriberRow[]): Promise<void> {
    const queue = this.#queues.of(row);
    await this.#subscribers.change(queue, row, subscribers);
    for (const shard of queue.shards) this.payloads.lookOver(shard); // for one who left it may have been kept
  }

  subscribers(row: QueueRow): SubscriberInfo[] {
    return this.#queues.of(row).subscribers();
  }

  /** The lease is held again: serves calls that waited meanwhile. */
  serveAll(): void {
    this.#queues.serveAll();
  }

  /** Nothing is committed and not consumed, and nothing is on its way. */
  get isEmpty(): boolean {
    const shards = [...this.#queues].flatMap((queue) => queue.shards);
    const isEmpty = shards.every((shard) => shard.backlog === 0) && this.#delayed.total === 0;
    return this.#group.isIdle && this.forwarding.isAtRest && isEmpty;
  }

  endWaits(error: QueueError): void {
    this.#queues.rejectWaiters(error);
  }

  get writerSilentMs(): number {
    return this.#writer.silentMs;
  }

  counts(row: QueueRow): QueueCounts {
    const counts = this.#queues.of(row).counts();
    const notDue = this.#delayed.count(row.queueId);
    const { movedIn, movedOut } = this.forwarding.moved(row);
    return {
      ...counts,
      delayed: counts.delayed + notDue,
      // A log counts what came to it, from wherever, and what left it, to wherever.
      enqueued: counts.enqueued + notDue - movedIn,
      consumed: counts.consumed - movedOut,
      movedIn,
      movedOut,
    };
  }

  shardStats(row: QueueRow): ShardStats[] {
    return this.#queues.of(row).stats();
  }

  queueStats(row: QueueRow): QueueStats {
    const figures = queueFigures(this.#queues.of(row), this.counts(row), this.#monitor.rates, thisMoment());
    return { instance: this.#options.instance, ...figures };
  }

  browse(row: QueueRow, options: BrowseOptions & { subscriber: string | undefined }): Promise<BrowsedPage> {
    const { readers } = this.#queues.of(row).subscription(options.subscriber);
    return browse(readers, options, { backlog: this.#reader, holds: this.holds, payloads: this.payloads });
  }

  async drop(row: QueueRow): Promise<void> {
    const queue = this.#queues.get(row.queueId);
    if (queue === undefined && this.#delayed.count(row.queueId) === 0) return;
    this.#queues.delete(row.queueId);
    this.forwarding.drop(row.queueId);
    if (queue !== undefined) await this.#dropShards(queue);
    await this.#forget(row.queueId); // with what commits that were on their way delayed
  }

  /** Removes what a dropped queue has beside its partitions. */
  async #forget(queueId: number): Promise<void> {
    this.#delayed.forget(queueId);
    this.payloads.forgetQueue(queueId);
    const side = (): SideChange[] => [{ kind: 'forget queue', queueId }];
    await this.#group.submit({ runs: [], deliveries: [], bytes: 0, sync: 'FULL', side });
  }

  async #dropShards(queue: ShardedQueue): Promise<void> {
    const { row } = queue;
    queue.rejectWaiters('QUEUE_DROPPED');
    this.holds.endAll((hold) => hold.queue.queueId === row.queueId);
    for (const shard of queue.shards) shard.dropped = true;
    await this.#group.settled(); // transactions on their way may still name its partitions
    for (const shard of queue.shards) {
      for (const partition of shard.partitions.takeAll()) this.#pool.truncate(partition.no, shard.partitions);
    }
    queue.dispose();
  }

  stopDequeue(row: QueueRow): void {
    this.#queues.get(row.queueId)?.rejectWaiters('DEQUEUE_STOPPED');
  }

  async close(): Promise<void> {
    this.#queues.rejectWaiters('INSTANCE_CLOSED');
    this.holds.close();
    await this.forwarding.close();
    this.payloads.close();
    this.#attempts.close();
    await this.#delayed.close();
    await this.#monitor.close();
    await this.#group.settled();
    await this.#reader.close();
    await this.#writer.close();
  }
}

/**
 * Messages of a queue that is not in the catalog are removed, for it was dropped. But if the catalog never had it, then
 * the catalog is what is wrong: `COMMITS_MISSING`.
 */
function assertCatalogKnows(
  { dir, knew }: ShardedEngineOptions,
  { partitions, subscriptions }: RecoveredInstance,
): void {
  const queueId = partitions.find((partition) => !knew('queue', partition.queueId))?.queueId;
  const subscriber = subscriptions.find((each) => !knew('subscriber', each.subscriber))?.subscriber;
  if (queueId === undefined && subscriber === undefined) return;
  const what = queueId === undefined ? `subscriber ${subscriber}` : `queue ${queueId}`;
  throw new QueueError('COMMITS_MISSING', {
    sentence: `The catalog of ${dir} has never heard of ${what}, which there are messages of: it is damaged, or an older one`,
    details: { dir, queueId, subscriber },
  });
}
