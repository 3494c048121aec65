/** The unsharded queues as one instance sees them: each commit and each hand-out writes to the one shared file. */

import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueStats } from '../queue-stats.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { CorrelationKey } from '../storage/correlation-index.ts';
import type { IdRun } from '../storage/id-runs.ts';
import {
  type ClaimedRow,
  type NamedQueue,
  type UnshardedChange,
  UnshardedFile,
  unshardedPath,
} from '../storage/unsharded-file.ts';
import type {
  BrowsedMessage,
  DequeueOptions,
  Message,
  ReceiveOptions,
  ShardStats,
  SubscriberInfo,
} from '../types.ts';
import type { BrowseOptions } from './browse.ts';
import { flowStats } from './monitoring/queue-figures.ts';
import type { OutcomeBook } from './outcome-book.ts';
import type { GoneCode, QueueCounts } from './queue-engine.ts';
import { RecordMessage, readContent } from './record-message.ts';
import { Slab } from './slab.ts';
import type { OutcomeTag } from './staged-transaction.ts';
import { TimedHolds } from './timed-holds.ts';
import { type UnshardedDelivery, type UnshardedHost, UnshardedTransaction } from './unsharded-transaction.ts';
import { Waiters } from './waiters.ts';

interface UnshardedEngineOptions {
  dir: string;
  instance: number;
  waits: WaitRecorder;
  /** Remembers the transactions of remote sessions. */
  book: OutcomeBook;
  lock: FileLock;
  /** Queues of the catalog. */
  queues(): readonly NamedQueue[];
  /** The file takes no more from this process. */
  onFatal(error: QueueError): void;
}

/** A hand-out is not synced: a small part of the time of a commit. */
export type WriteKind = 'hand-out' | 'commit';

/** The order in which the processes of the cluster write to the shared file. */
export interface FileLock {
  run<T>(kind: WriteKind, work: () => T): Promise<T>;
  close(): Promise<void>;
}

interface ClaimRequest {
  queue: QueueRow;
  max: number;
  onDelivery(delivery: UnshardedDelivery): void;
}

/** While calls wait, how often the file is looked at for commits of other processes, milliseconds. */
const lookMs = 2;
/** How often holds of processes that died are given back, milliseconds. */
const reapMs = 1_000;
/** Pause before another try when a process wrote without having asked, milliseconds. */
const busyRetryMs = 1;

export class UnshardedEngine implements UnshardedHost {
  readonly slab = new Slab();
  readonly holds: TimedHolds<UnshardedDelivery>;
  readonly totals = { enqueued: 0, consumed: 0, commits: 0, groups: 0 };
  readonly #options: UnshardedEngineOptions;
  readonly #lock: FileLock;
  readonly #waiters = new Map<number, Waiters<ClaimRequest>>();
  readonly #serving = new Set<number>();
  #file: UnshardedFile | undefined;
  #timers: NodeJS.Timeout[] = [];
  #version = 0;
  #holdNo = 0;
  /** Queues that went since the instance opened: transactions on them must not commit. */
  readonly #gone = new Map<number, GoneCode>();
  /** Given back in vain: tried again every so often. */
  #stranded: UnshardedDelivery[] = [];
  #closed = false;

  constructor(options: UnshardedEngineOptions) {
    this.#options = options;
    this.holds = new TimedHolds((holds) => this.#giveBackLater(holds.map((hold) => hold.delivery)));
    this.#lock = options.lock;
  }

  /** Opened at first use: an instance without unsharded queues has no such file. */
  get #opened(): UnshardedFile {
    if (this.#file === undefined) {
      const { dir, instance, queues, onFatal, book } = this.#options;
      this.#file = new UnshardedFile(dir, queues, onFatal);
      book.loadUnsharded(this.#file.outcomes(instance));
      this.#timers = [
        setInterval(() => this.#look(), lookMs).unref(),
        setInterval(() => void this.#reap(), reapMs).unref(),
      ];
    }
    return this.#file;
  }

  /** Runs a write once this process has the lock. */
  async #write<T>(kind: WriteKind, work: (file: UnshardedFile) => T): Promise<T> {
    const file = this.#opened;
    for (;;) {
      try {
        return await this.#lock.run(kind, () => work(file));
      } catch (error) {
        if (!UnshardedFile.isBusy(error) || this.#closed) throw error;
        const startedAt = performance.now();
        await new Promise((resume) => setTimeout(resume, busyRetryMs));
        this.#options.waits.record('write lock', performance.now() - startedAt);
      }
    }
  }

  #look(): void {
    let waiting = false;
    for (const waiters of this.#waiters.values()) waiting ||= waiters.size > 0;
    if (!waiting) return;
    try {
      const version = this.#opened.version();
      if (version === this.#version) return;
      this.#version = version;
    } catch {
      // Serving meets the same fault, and tells those who wait.
    }
    for (const queueId of this.#waiters.keys()) void this.#serve(queueId);
  }

  async #reap(): Promise<void> {
    if (this.#closed) return;
    try {
      const stranded = this.#stranded;
      this.#stranded = [];
      await this.giveBack(stranded);
      await this.#forgetOutcomes();
      if ((await this.#write('commit', (file) => file.releaseOfTheDead())) > 0) {
        for (const queueId of this.#waiters.keys()) void this.#serve(queueId);
      }
    } catch {
      // The next round tries again; until then the holds of the dead stay.
    }
  }

  /** Removes rows of remote sessions that were closed, or lost for long. */
  async #forgetOutcomes(): Promise<void> {
    const sessions = this.#options.book.forgottenInUnshardedFile.splice(0);
    if (sessions.length === 0) return;
    try {
      await this.#write('commit', (file) => file.forget(sessions));
    } catch (error) {
      this.#options.book.forgottenInUnshardedFile.push(...sessions);
      throw error;
    }
  }

  /** Opens the file now if there is one, in this process's turn among its writers: opening writes to it. */
  async open(): Promise<void> {
    if (existsSync(unshardedPath(this.#options.dir))) await this.#lock.run('commit', () => void this.#opened);
  }

  /** Takes in what the file says of remote sessions that an earlier process served; there need not be one. */
  recoverOutcomes(): void {
    if (existsSync(unshardedPath(this.#options.dir))) void this.#opened;
  }

  #waitersOf(queueId: number): Waiters<ClaimRequest> {
    let waiters = this.#waiters.get(queueId);
    if (waiters === undefined) {
      waiters = new Waiters(this.#options.waits);
      this.#waiters.set(queueId, waiters);
    }
    return waiters;
  }

  begin(): UnshardedTransaction {
    return new UnshardedTransaction(this);
  }

  endSession(_session: number): void {
    // Sessions are not bound to anything in an unsharded queue.
  }

  async commit(change: UnshardedChange, tag: OutcomeTag | undefined): Promise<IdRun[]> {
    this.assertThere(change);
    let writingAt = 0;
    const { instance } = this.#options;
    const outcome = tag && { session: tag.entry.session, no: tag.no, instance };
    const runs = await this.#write('commit', (file) => {
      writingAt = performance.now();
      return file.commit({ ...change, outcome });
    });
    if (tag !== undefined) {
      tag.entry.committed(tag.no, runs);
      tag.entry.inUnshardedFile = true;
    }
    this.#options.waits.record('log file sync', performance.now() - writingAt);
    this.totals.enqueued += change.enqueued.length;
    this.totals.consumed += change.consumed.length;
    this.totals.commits += 1;
    this.totals.groups += 1;
    for (const queueId of new Set(change.enqueued.map((message) => message.queueId)))
      void this.#serve(queueId);
    return runs;
  }

  assertThere(change: UnshardedChange): void {
    if (this.#gone.size === 0) return;
    const codes = queuesOf(change).map((queueId) => this.#gone.get(queueId));
    // A drop is the worse news: the same call will not succeed.
    const code = codes.find((each) => each === 'QUEUE_DROPPED') ?? codes.find((each) => each !== undefined);
    if (code !== undefined) throw new QueueError(code);
  }

  async handOut(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: UnshardedDelivery) => void,
  ): Promise<Message[]> {
    const waiters = this.#waitersOf(queue.queueId);
    const request = { queue, max: options.max, onDelivery };
    if (waiters.size === 0 && this.#opened.anyReady(queue.queueId)) {
      const rows = await this.#write('hand-out', (file) => file.claim(queue.queueId, options.max));
      if (rows.length > 0) return this.#deliver(request, rows);
    }
    if (options.waitMs === 0) return [];
    const messages = waiters.wait(request, options.waitMs, options.signal);
    void this.#serve(queue.queueId); // something may have come between the look and the wait
    return messages;
  }

  #deliver({ queue, onDelivery }: ClaimRequest, rows: readonly ClaimedRow[]): Message[] {
    return rows.map((row) => {
      onDelivery({ queueId: queue.queueId, id: row.id });
      this.#holdNo += 1;
      return new HeldMessage(row, this.#options.instance, this.#holdNo);
    });
  }

  /** Serves waiting calls in order until one gets nothing; one such round at a time for a queue. */
  async #serve(queueId: number): Promise<void> {
    const waiters = this.#waiters.get(queueId);
    if (waiters === undefined || waiters.size === 0 || this.#serving.has(queueId)) return;
    this.#serving.add(queueId);
    try {
      if (!this.#opened.anyReady(queueId)) return;
      // All in one turn at the lock: a waiting session must not queue behind every enqueuer for each message.
      await this.#write('hand-out', (file) => {
        for (const waiter of waiters) {
          const rows = file.claim(queueId, waiter.request.max);
          if (rows.length === 0) break;
          waiter.settle(this.#deliver(waiter.request, rows));
        }
      });
    } catch (error) {
      for (const waiter of waiters) {
        waiter.settle(
          error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error }),
        );
      }
    } finally {
      this.#serving.delete(queueId);
    }
  }

  async receive(
    queue: QueueRow,
    options: ReceiveOptions & { max: number; waitMs: number; holdMs: number },
  ): Promise<Message[]> {
    const deliveries: UnshardedDelivery[] = [];
    const max = Math.min(options.max, this.holds.assertRoom());
    const messages = await this.handOut(queue, { ...options, max }, (delivery) => deliveries.push(delivery));
    for (const [index, delivery] of deliveries.entries()) {
      this.holds.add({ queue, delivery, receipt: messages[index]!.receipt }, options.holdMs);
    }
    return messages;
  }

  async release(queue: QueueRow, receipts: readonly string[]): Promise<void> {
    const holds = this.holds.find(queue, receipts);
    for (const hold of holds) this.holds.end(hold);
    await this.giveBack(holds.map((hold) => hold.delivery));
  }

  extend(queue: QueueRow, receipts: readonly string[], holdMs: number): void {
    for (const hold of this.holds.find(queue, receipts)) this.holds.extend(hold, holdMs);
  }

  /** What cannot be written now is given back as soon as it can; until then it stays held. */
  async giveBack(deliveries: readonly UnshardedDelivery[]): Promise<void> {
    if (deliveries.length === 0 || this.#closed) return; // closing the file gives everything back
    try {
      await this.#write('commit', (file) => file.release(deliveries));
    } catch (error) {
      this.#stranded.push(...deliveries);
      throw error;
    }
    for (const queueId of new Set(deliveries.map((delivery) => delivery.queueId))) void this.#serve(queueId);
  }

  #giveBackLater(deliveries: readonly UnshardedDelivery[]): void {
    this.giveBack(deliveries).catch(() => undefined); // they are kept, and tried again
  }

  counts(queue: QueueRow): QueueCounts {
    const none = { cacheBytes: 0, delayed: 0, movedIn: 0, movedOut: 0 };
    return { shards: 0, ...none, ...this.#opened.counts(queue.queueId) };
  }

  shardStats(queue: QueueRow): ShardStats[] {
    const { ready, held } = this.counts(queue);
    return [{ shard: 0, queue: queue.name, backlog: ready + held, cacheBytes: 0, partitions: [] }];
  }

  queueStats(queue: QueueRow): QueueStats {
    const { shards: _none, cacheBytes: _nothing, ready, held, ...counts } = this.counts(queue);
    const flow = this.#opened.flow(queue.queueId);
    const { name, kind, type } = queue;
    return {
      queue: name,
      kind,
      type,
      instance: this.#options.instance,
      asOfMs: Date.now(),
      total: { ...flowStats({ depth: ready + held, ready, held }, flow), ...counts },
      shards: [],
      subscribers: [],
      partitions: [],
    };
  }

  async browse(
    queue: QueueRow,
    { limit, after, key }: BrowseOptions,
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    const afterId = Number(after ?? 0);
    if (!Number.isSafeInteger(afterId) || afterId < 0) {
      throw new QueueError('OPTIONS_INVALID', { sentence: '`after` is not a page mark of this queue' });
    }
    const rows =
      key === undefined
        ? this.#opened.browse(queue.queueId, afterId, limit + 1)
        : await this.#search(queue.queueId, { afterId, limit: limit + 1, key });
    const held = new Map<number, BrowsedMessage>();
    const messages = rows.slice(0, limit).map(({ id, heldBy, deliveryCount, record }) => {
      const state = heldBy === 0 ? 'ready' : 'held';
      const content = readContent(record, 0, noChunks);
      const message: BrowsedMessage = { id: String(id), ...content, deliveryCount, state };
      if (state === 'held') held.set(id, message);
      return message;
    });
    // Only this instance's own: the file does not say when those of others end.
    for (const { delivery, untilMs } of held.size === 0 ? [] : this.holds.running()) {
      const message = held.get(delivery.id);
      if (message !== undefined) message.untilMs = untilMs;
    }
    return { messages, next: rows.length > limit ? messages.at(-1)!.id : null };
  }

  /** Over all messages, since there is no index on correlation ids; other calls go on in between. */
  async #search(
    queueId: number,
    { afterId, limit, key }: { afterId: number; limit: number; key: CorrelationKey },
  ): Promise<ReturnType<UnshardedFile['browse']>> {
    const found: ReturnType<UnshardedFile['browse']> = [];
    for (let after = afterId; ; ) {
      const rows = this.#opened.browse(queueId, after, limits.searchRows);
      found.push(...rows.filter(({ record }) => key.isOf(record, 0)));
      if (rows.length < limits.searchRows || found.length >= limit) return found.slice(0, limit);
      after = rows.at(-1)!.id;
      await setImmediate();
    }
  }

  async upload(queue: QueueRow): Promise<never> {
    throw new QueueError('STREAM_UNSUPPORTED', { details: { queue: queue.name } });
  }

  discard(): void {
    // Nothing is ever uploaded.
  }

  lookUp(queue: QueueRow): never {
    throw new QueueError('STREAM_UNSUPPORTED', { details: { queue: queue.name } });
  }

  async subscribe(): Promise<void> {
    // Unsharded queues are never topics: `QUEUE_SPEC_INVALID`.
  }

  subscribers(): SubscriberInfo[] {
    return [];
  }

  async drop(queue: QueueRow, code: GoneCode): Promise<void> {
    this.#gone.set(queue.queueId, code);
    this.#endWaits(queue, code);
    this.holds.endAll((hold) => hold.queue.queueId === queue.queueId);
    await this.#write('commit', (file) => file.drop(queue.queueId));
  }

  endWaits(error: QueueError): void {
    for (const waiters of this.#waiters.values()) waiters.rejectAll(error);
  }

  stopDequeue(queue: QueueRow): void {
    this.#endWaits(queue, 'DEQUEUE_STOPPED');
  }

  #endWaits(queue: QueueRow, code: QueueErrorCode): void {
    this.#waiters.get(queue.queueId)?.end(code);
    this.#waiters.delete(queue.queueId);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const waiters of this.#waiters.values()) waiters.end('INSTANCE_CLOSED');
    this.holds.close();
    try {
      if (this.#file !== undefined) await this.#closeInTurn(this.#file);
    } finally {
      await this.#lock.close();
    }
  }

  /** A wait inside SQLite may be long where others write all the time, and it stops the thread. */
  async #closeInTurn(file: UnshardedFile): Promise<void> {
    let begun = false;
    const close = () => {
      begun = true;
      file.close(this.#options.book.forgottenInUnshardedFile);
    };
    try {
      await this.#lock.run('commit', close);
    } catch (error) {
      if (begun) throw error;
      close(); // the lock cannot be reached: SQLite alone decides
    }
  }
}

/** Payloads are streamed to sharded queues only. */
function noChunks(): never {
  throw new QueueError('STREAM_UNSUPPORTED');
}

function queuesOf({ enqueued, consumed }: UnshardedChange): number[] {
  return [...enqueued, ...consumed].map(({ queueId }) => queueId);
}

/** A message as it was handed out. */
class HeldMessage extends RecordMessage {
  readonly deliveryCount: number;
  readonly #instance: number;
  readonly #holdNo: number;

  constructor({ id, deliveryCount, record }: ClaimedRow, instance: number, holdNo: number) {
    super(id, record, 0);
    this.deliveryCount = deliveryCount;
    this.#instance = instance;
    this.#holdNo = holdNo;
  }

  protected override get place(): string {
    return '';
  }

  protected override get hold(): string {
    return `${this.#instance}.${this.deliveryCount}.${this.#holdNo}`;
  }
}
