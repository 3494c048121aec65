/** The unsharded queues of one instance: every commit and every delivery writes to the file that all instances share. */

import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { ShardStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage, Message } from '../api/message.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { DequeueOptions, ReceiveOptions } from '../api/session.ts';
import type { CommitOutcomes } from '../commit/commit-outcomes.ts';
import type { OutcomeTag } from '../commit/staged-transaction.ts';
import { Slab } from '../commit/staged-transaction.ts';
import type { CorrelationKey } from '../model/correlation-key.ts';
import { flowStats } from '../model/flow-stats.ts';
import type { IdRun } from '../model/id-runs.ts';
import { invariantBroken } from '../model/invariant.ts';
import { type ChunkedPayload, RecordMessage } from '../model/message-record.ts';
import type { InstancePorts, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import { streamPayload } from '../payloads/payload-stream.ts';
import type {
  BrowseOptions,
  GoneCode,
  MessageReceiver,
  QueueBrowser,
  QueueCounts,
  QueueEngine,
  QueueLifecycle,
  QueueStatistics,
} from '../queues/queue-engine.ts';
import { readContent } from '../queues/record-content.ts';
import { TimedHolds } from '../queues/timed-holds.ts';
import { Waiters } from '../queues/waiters.ts';
import {
  type ClaimedRow,
  type NamedQueue,
  type UnshardedChange,
  UnshardedFile,
  unshardedPath,
} from '../storage/unsharded/unsharded-file.ts';
import { unshardedFileIsExpected } from '../storage/unsharded/unsharded-integrity.ts';
import type { SharedFileLock, WriteKind } from './shared-file-lock.ts';
import {
  type UnshardedDelivery,
  UnshardedTransaction,
  type UnshardedTransactionEngine,
} from './unsharded-transaction.ts';

interface UnshardedEngineOptions {
  dir: string;
  instance: number;
  waits: WaitRecorder;
  ports: InstancePorts;
  /** Remembers the transactions of remote sessions. */
  outcomes: CommitOutcomes;
  lock: SharedFileLock;
  logBytesMax: number;
  /** Queues of the catalog. */
  queues(): readonly NamedQueue[];
  /** This process can no longer write to the file. */
  onFatal(error: QueueError): void;
}

interface ClaimRequest {
  queue: QueueRow;
  max: number;
  onDelivery(delivery: UnshardedDelivery): void;
}

/** Milliseconds between checks for commits of other processes while calls wait. */
const commitPollMs = 2;
/** Milliseconds between checks for holds of dead processes. */
const deadHoldsReleaseMs = 1_000;
/** Milliseconds before a retry when a process without the write lock was writing. */
const busyRetryMs = 1;

export class UnshardedEngine
  implements
    QueueEngine,
    UnshardedTransactionEngine,
    MessageReceiver,
    QueueBrowser,
    QueueStatistics,
    QueueLifecycle
{
  // It is all parts of its kind: each is a few statements on the same file.
  readonly transactions = this;
  readonly receiver = this;
  readonly browser = this;
  readonly statistics = this;
  readonly lifecycle = this;
  readonly immediate = undefined;
  readonly streams = undefined;
  readonly slab = new Slab();
  readonly holds: TimedHolds<UnshardedDelivery>;
  readonly totals = { enqueued: 0, consumed: 0, commits: 0, groups: 0 };
  readonly #options: UnshardedEngineOptions;
  readonly #lock: SharedFileLock;
  readonly #waiters = new Map<number, Waiters<ClaimRequest>>();
  readonly #serving = new Set<number>();
  #file: UnshardedFile | undefined;
  #timers: Timer[] = [];
  #version = 0;
  #holdNumber = 0;
  /** Queues that were dropped or converted since the instance opened: transactions on them must not commit. */
  readonly #goneCodes = new Map<number, GoneCode>();
  /** Deliveries whose return to the queue failed; retried with the check for dead processes. */
  #failedNacks: UnshardedDelivery[] = [];
  #closed = false;

  constructor(options: UnshardedEngineOptions) {
    this.#options = options;
    this.holds = new TimedHolds({
      ports: options.ports,
      onExpired: (holds) => this.#nackInBackground(holds.map((hold) => hold.delivery)),
      onInvariantBroken: (violation) => options.onFatal(invariantBroken(violation)),
    });
    this.#lock = options.lock;
  }

  /** Opened at first use: an instance without unsharded queues has no such file. */
  get #openedFile(): UnshardedFile {
    if (this.#file === undefined) {
      const { dir, instance, queues, onFatal, outcomes, logBytesMax, ports } = this.#options;
      this.#file = new UnshardedFile(dir, { queues, onFailed: onFatal, logBytesMax, ports });
      outcomes.loadUnsharded(this.#file.outcomes(instance));
      this.#timers = [
        ports.timers.every(commitPollMs, () => this.#pollForCommits()),
        ports.timers.every(deadHoldsReleaseMs, () => void this.#releaseDeadHolds()),
      ];
    }
    return this.#file;
  }

  /** Runs a write once this process has the lock. */
  async #write<T>(kind: WriteKind, work: (file: UnshardedFile) => T): Promise<T> {
    const file = this.#openedFile;
    for (;;) {
      try {
        return await this.#lock.run(kind, () => work(file));
      } catch (error) {
        if (!UnshardedFile.isBusy(error) || this.#closed) throw error;
        const startedAt = this.#options.ports.clock.monotonicMs();
        await new Promise<void>((resume) => this.#options.ports.timers.deadline(busyRetryMs, resume));
        this.#options.waits.record('write lock', this.#options.ports.clock.monotonicMs() - startedAt);
      }
    }
  }

  #pollForCommits(): void {
    let waiting = false;
    for (const waiters of this.#waiters.values()) waiting ||= waiters.size > 0;
    if (!waiting) return;
    try {
      const version = this.#openedFile.dataVersion();
      if (version === this.#version) return;
      this.#version = version;
    } catch {
      // Serving meets the same error and reports it to the callers that wait.
    }
    for (const queueId of this.#waiters.keys()) void this.#serve(queueId);
  }

  async #releaseDeadHolds(): Promise<void> {
    if (this.#closed) return;
    try {
      const stranded = this.#failedNacks;
      this.#failedNacks = [];
      await this.nack(stranded);
      await this.#forgetOutcomes();
      if ((await this.#write('commit', (file) => file.releaseHeldByDeadProcesses())) > 0) {
        for (const queueId of this.#waiters.keys()) void this.#serve(queueId);
      }
    } catch {
      // The next check tries again.
    }
  }

  /** Deletes outcomes of remote sessions that were closed or have been lost for long. */
  async #forgetOutcomes(): Promise<void> {
    const sessions = this.#options.outcomes.sessionsToForgetInUnshardedFile.splice(0);
    if (sessions.length === 0) return;
    try {
      await this.#write('commit', (file) => file.deleteOutcomes(sessions));
    } catch (error) {
      this.#options.outcomes.sessionsToForgetInUnshardedFile.push(...sessions);
      throw error;
    }
  }

  /** Opens the file if it exists, under the write lock, since opening writes to it. */
  async open(): Promise<void> {
    if (unshardedFileIsExpected(unshardedPath(this.#options.dir)))
      await this.#lock.run('commit', () => void this.#openedFile);
  }

  /** Loads the outcomes of remote sessions that an earlier process served, if the file exists. */
  recoverOutcomes(): void {
    if (unshardedFileIsExpected(unshardedPath(this.#options.dir))) void this.#openedFile;
  }

  #waitersOf(queueId: number): Waiters<ClaimRequest> {
    let waiters = this.#waiters.get(queueId);
    if (waiters === undefined) {
      waiters = new Waiters(this.#options.waits, this.#options.ports);
      this.#waiters.set(queueId, waiters);
    }
    return waiters;
  }

  epochMs(): number {
    return this.#options.ports.clock.epochMs();
  }

  beginTransaction(): UnshardedTransaction {
    return new UnshardedTransaction(this);
  }

  async commit(change: UnshardedChange, tag: OutcomeTag | undefined): Promise<IdRun[]> {
    this.assertQueuesExist(change);
    let writingAt = 0;
    const { instance } = this.#options;
    const outcome = tag && {
      sessionId: tag.entry.sessionId,
      transactionNumber: tag.transactionNumber,
      instance,
    };
    const runs = await this.#write('commit', (file) => {
      writingAt = this.#options.ports.clock.monotonicMs();
      return file.commit({ ...change, outcome });
    });
    if (tag !== undefined) {
      tag.entry.recordCommit(tag.transactionNumber, runs);
      tag.entry.inUnshardedFile = true;
    }
    this.#options.waits.record('log file sync', this.#options.ports.clock.monotonicMs() - writingAt);
    this.totals.enqueued += change.enqueued.length;
    this.totals.consumed += change.consumed.length;
    this.totals.commits += 1;
    this.totals.groups += 1;
    for (const queueId of new Set(change.enqueued.map((message) => message.queueId)))
      void this.#serve(queueId);
    return runs;
  }

  assertQueuesExist(change: UnshardedChange): void {
    if (this.#goneCodes.size === 0) return;
    const codes = queueIdsOf(change).map((queueId) => this.#goneCodes.get(queueId));
    // A drop takes precedence: repeating the call cannot succeed.
    const code =
      codes.find((goneCode) => goneCode === 'QUEUE_DROPPED') ??
      codes.find((goneCode) => goneCode !== undefined);
    if (code !== undefined) throw new QueueError(code);
  }

  async deliver(
    queue: QueueRow,
    options: DequeueOptions & { max: number; waitMs: number },
    onDelivery: (delivery: UnshardedDelivery) => void,
  ): Promise<Message[]> {
    const waiters = this.#waitersOf(queue.queueId);
    const request = { queue, max: options.max, onDelivery };
    if (waiters.size === 0 && this.#openedFile.hasReady(queue.queueId)) {
      const rows = await this.#write('delivery', (file) => file.claim(queue.queueId, options.max));
      if (rows.length > 0) return this.#toMessages(request, rows);
    }
    if (options.waitMs === 0) return [];
    const messages = waiters.wait(request, options.waitMs, options.signal);
    void this.#serve(queue.queueId); // a message may have arrived between the check and the wait
    return messages;
  }

  #toMessages({ queue, onDelivery }: ClaimRequest, rows: readonly ClaimedRow[]): Message[] {
    return rows.map((row) => {
      onDelivery({ queueId: queue.queueId, id: row.id, crc: row.crc });
      return new UnshardedMessage(row);
    });
  }

  /** Serves waiting calls in order until one gets no message. At most one run at a time for a queue. */
  async #serve(queueId: number): Promise<void> {
    const waiters = this.#waiters.get(queueId);
    if (waiters === undefined || waiters.size === 0 || this.#serving.has(queueId)) return;
    this.#serving.add(queueId);
    try {
      if (!this.#openedFile.hasReady(queueId)) return;
      // All calls share one turn of the lock, so that no session queues behind every enqueuer for each message.
      await this.#write('delivery', (file) => {
        for (const waiter of waiters) {
          const rows = file.claim(queueId, waiter.request.max);
          if (rows.length === 0) break;
          waiter.finish(this.#toMessages(waiter.request, rows));
        }
      });
    } catch (error) {
      for (const waiter of waiters) {
        waiter.finish(
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
    const max = Math.min(options.max, this.holds.assertCapacity());
    const messages = await this.deliver(queue, { ...options, max }, (delivery) => deliveries.push(delivery));
    for (const [index, delivery] of deliveries.entries()) {
      const message = messages[index]!;
      this.#holdNumber += 1;
      const name = `${delivery.id}.${this.#options.instance}.${message.deliveryCount}.${this.#holdNumber}`;
      message.receipt = this.holds.add({ queue, delivery, name }, options.holdMs);
    }
    return messages;
  }

  async release(queue: QueueRow, receipts: readonly string[]): Promise<void> {
    const holds = this.holds.find(queue, receipts);
    for (const hold of holds) this.holds.release(hold);
    await this.nack(holds.map((hold) => hold.delivery));
  }

  extend(queue: QueueRow, receipts: readonly string[], holdMs: number): void {
    for (const hold of this.holds.find(queue, receipts)) this.holds.extend(hold, holdMs);
  }

  /** Messages stay held until the write succeeds; a failed one is retried. */
  async nack(deliveries: readonly UnshardedDelivery[]): Promise<void> {
    if (deliveries.length === 0 || this.#closed) return; // closing the file releases all holds
    try {
      await this.#write('commit', (file) => file.release(deliveries));
    } catch (error) {
      this.#failedNacks.push(...deliveries);
      throw error;
    }
    for (const queueId of new Set(deliveries.map((delivery) => delivery.queueId))) void this.#serve(queueId);
  }

  #nackInBackground(deliveries: readonly UnshardedDelivery[]): void {
    this.nack(deliveries).catch(() => undefined); // kept in `#failedNacks` and retried
  }

  counts(queue: QueueRow): QueueCounts {
    const none = { cacheBytes: 0, delayed: 0, forwardedIn: 0, forwardedOut: 0, refused: 0, lost: 0 };
    return { shards: 0, ...none, ...this.#openedFile.counts(queue.queueId) };
  }

  shardStats(queue: QueueRow): ShardStats[] {
    const { ready, held } = this.counts(queue);
    return [{ shard: 0, queue: queue.name, backlog: ready + held, cacheBytes: 0, partitions: [] }];
  }

  queueStats(queue: QueueRow): QueueStats {
    const { shards: _none, cacheBytes: _nothing, ready, held, ...counts } = this.counts(queue);
    const flow = this.#openedFile.flow(queue.queueId);
    const { name, kind, type } = queue;
    return {
      queue: name,
      kind,
      type,
      instance: this.#options.instance,
      asOfMs: this.#options.ports.clock.epochMs(),
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
      throw new QueueError('OPTIONS_INVALID', { message: '`after` is not a page mark of this queue' });
    }
    const rows =
      key === undefined
        ? this.#openedFile.browse(queue.queueId, afterId, limit + 1)
        : await this.#search(queue.queueId, { afterId, limit: limit + 1, key });
    const held = new Map<number, BrowsedMessage>();
    const messages = rows.slice(0, limit).map(({ id, heldBy, deliveryCount, record }) => {
      const state = heldBy === 0 ? 'ready' : 'held';
      const content = readContent(record, 0, throwStreamUnsupported);
      const message: BrowsedMessage = { id: String(id), ...content, deliveryCount, state };
      if (state === 'held') held.set(id, message);
      return message;
    });
    // Only this instance's own: the file does not say when those of others end.
    for (const { delivery, untilMs } of held.size === 0 ? [] : this.holds.expiring()) {
      const message = held.get(delivery.id);
      if (message !== undefined) message.untilMs = untilMs;
    }
    return { messages, next: rows.length > limit ? messages.at(-1)!.id : null };
  }

  /** Scans all messages, since there is no index on correlation ids, and yields to other calls in between. */
  async #search(
    queueId: number,
    { afterId, limit, key }: { afterId: number; limit: number; key: CorrelationKey },
  ): Promise<ReturnType<UnshardedFile['browse']>> {
    const found: ReturnType<UnshardedFile['browse']> = [];
    for (let after = afterId; ; ) {
      const rows = this.#openedFile.browse(queueId, after, limits.searchRowsPerTurn);
      found.push(...rows.filter(({ record }) => key.matches(record, 0)));
      if (rows.length < limits.searchRowsPerTurn || found.length >= limit) return found.slice(0, limit);
      after = rows.at(-1)!.id;
      await new Promise<void>((resume) => this.#options.ports.timers.nextTurn(resume));
    }
  }

  async drop(queue: QueueRow, code: GoneCode): Promise<void> {
    this.#goneCodes.set(queue.queueId, code);
    this.#closeWaiters(queue, code);
    this.holds.dropWhere((hold) => hold.queue.queueId === queue.queueId);
    await this.#write('commit', (file) => file.dropQueue(queue.queueId));
  }

  rejectWaiters(error: QueueError): void {
    for (const waiters of this.#waiters.values()) waiters.rejectAll(error);
  }

  stopDequeue(queue: QueueRow): void {
    this.#closeWaiters(queue, 'DEQUEUE_STOPPED');
  }

  #closeWaiters(queue: QueueRow, code: QueueErrorCode): void {
    this.#waiters.get(queue.queueId)?.close(code);
    this.#waiters.delete(queue.queueId);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    for (const waiters of this.#waiters.values()) waiters.close('INSTANCE_CLOSED');
    this.holds.close();
    try {
      if (this.#file !== undefined) await this.#closeUnderLock(this.#file);
    } finally {
      await this.#lock.close();
    }
  }

  /** A wait inside SQLite can be long while others write all the time, and it blocks the thread. */
  async #closeUnderLock(file: UnshardedFile): Promise<void> {
    let begun = false;
    const close = () => {
      begun = true;
      file.close(this.#options.outcomes.sessionsToForgetInUnshardedFile);
    };
    try {
      await this.#lock.run('commit', close);
    } catch (error) {
      if (begun) throw error;
      close(); // the lock cannot be reached: SQLite alone decides
    }
  }
}

/** Only sharded queues take streamed payloads. */
function throwStreamUnsupported(): never {
  throw new QueueError('STREAM_UNSUPPORTED');
}

function queueIdsOf({ enqueued, consumed }: UnshardedChange): number[] {
  return [...enqueued, ...consumed].map(({ queueId }) => queueId);
}

/** A message as it was delivered. */
class UnshardedMessage extends RecordMessage {
  readonly deliveryCount: number;
  /** Set once it is under a timed hold. */
  receipt = '';

  constructor({ id, deliveryCount, record }: ClaimedRow) {
    super(id, record, 0);
    this.deliveryCount = deliveryCount;
  }

  protected override get idPrefix(): string {
    return '';
  }

  protected override streamPayload(payload: ChunkedPayload | Buffer): ReturnType<Message['payloadStream']> {
    return streamPayload(payload, throwStreamUnsupported);
  }
}
