/**
 * The unsharded queues of one instance: every commit and every delivery writes to the file that all instances share. How
 * they are written differs by kind (`unsharded-writes.ts`), and all else is the same.
 */

import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { ShardStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage, Message } from '../api/message.ts';
import type { QueueKind } from '../api/queue.ts';
import type { QueueStats } from '../api/queue-stats.ts';
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
import type { RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';
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
  ValidDequeueOptions,
  ValidReceiveOptions,
} from '../queues/queue-engine.ts';
import { readContent } from '../queues/record-content.ts';
import { TimedHolds } from '../queues/timed-holds.ts';
import { Waiters } from '../queues/waiters.ts';
import type {
  ClaimedRow,
  NamedQueue,
  UnshardedChange,
  UnshardedFile,
} from '../storage/unsharded/unsharded-file.ts';
import { GroupedWrites } from './grouped-writes.ts';
import { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import { SessionWrites } from './session-writes.ts';
import {
  type UnshardedDelivery,
  UnshardedTransaction,
  type UnshardedTransactionEngine,
} from './unsharded-transaction.ts';
import type { ClaimingCall, UnshardedWrites } from './unsharded-writes.ts';
import { WriteLock } from './write-lock.ts';

interface UnshardedEngineOptions {
  kind: Exclude<QueueKind, 'sharded'>;
  dir: string;
  instance: number;
  waits: WaitRecorder;
  ports: InstancePorts;
  /** Remembers the transactions of remote sessions. */
  outcomes: CommitOutcomes;
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
  readonly totals = { enqueued: 0, consumed: 0, commits: 0, groups: 0, syncs: 0 };
  readonly #options: UnshardedEngineOptions;
  readonly #file: LazyUnshardedFile;
  readonly #writes: UnshardedWrites;
  readonly #waiters = new Map<number, Waiters<ClaimRequest>>();
  /** Queues whose waiting calls are being served; true: a message may have arrived since. */
  readonly #serving = new Map<number, boolean>();
  /** How often messages were announced. */
  #readyNotices = 0;
  readonly #timers: Timer[] = [];
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
    const { dir, kind, ports, waits } = options;
    this.#file = new LazyUnshardedFile(dir, { ...options, onFailed: options.onFatal }, (file) =>
      this.#onOpened(file),
    );
    const isGrouped = kind === 'unsharded-grouped';
    // Sessions wait for their group, of whose time the wait for the lock is a part.
    const onWaited = (ms: number) => (isGrouped ? undefined : waits.record('write lock', ms));
    const parts = { dir, file: this.#file, waits, ports, lock: new WriteLock({ dir, ports, onWaited }) };
    const onReady = (queueIds: readonly number[] | null) => this.#onReady(queueIds ?? this.#waiters.keys());
    this.#writes = isGrouped ? new GroupedWrites({ ...parts, onReady }) : new SessionWrites(parts);
  }

  #onOpened(file: UnshardedFile): void {
    const { instance, outcomes, ports } = this.#options;
    outcomes.loadUnsharded(file.outcomes(instance));
    this.#timers.push(ports.timers.every(deadHoldsReleaseMs, () => void this.#releaseDeadHolds()));
    if (!this.#writes.announcesReady)
      this.#timers.push(ports.timers.every(commitPollMs, () => this.#pollForCommits()));
  }

  #pollForCommits(): void {
    let waiting = false;
    for (const waiters of this.#waiters.values()) waiting ||= waiters.size > 0;
    if (!waiting) return;
    try {
      const version = this.#file.opened.dataVersion();
      if (version === this.#version) return;
      this.#version = version;
    } catch {
      // Serving meets the same error and reports it to the callers that wait.
    }
    this.#serveAll(this.#waiters.keys());
  }

  #onReady(queueIds: Iterable<number>): void {
    this.#readyNotices += 1;
    this.#serveAll(queueIds);
  }

  #serveAll(queueIds: Iterable<number>): void {
    for (const queueId of queueIds) void this.#serve(queueId);
  }

  async #releaseDeadHolds(): Promise<void> {
    if (this.#closed) return;
    try {
      const stranded = this.#failedNacks;
      this.#failedNacks = [];
      await this.nack(stranded);
      await this.#forgetOutcomes();
      if ((await this.#writes.releaseHeldByDeadProcesses()) > 0) this.#serveAll(this.#waiters.keys());
    } catch {
      // The next check tries again.
    }
  }

  /** Deletes outcomes of remote sessions that were closed or have been lost for long. */
  async #forgetOutcomes(): Promise<void> {
    const sessions = this.#options.outcomes.sessionsToForgetInUnshardedFile.splice(0);
    if (sessions.length === 0) return;
    try {
      await this.#writes.forgetOutcomes(sessions);
    } catch (error) {
      this.#options.outcomes.sessionsToForgetInUnshardedFile.push(...sessions);
      throw error;
    }
  }

  /** Opens the file if it exists. */
  async open(): Promise<void> {
    if (this.#file.isExpected) await this.#writes.open();
  }

  /** Loads the outcomes of remote sessions that an earlier process served, if the file exists. */
  recoverOutcomes(): void {
    if (this.#file.isExpected) void this.#file.opened;
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

  beginTransaction(_session: number, time: RecordedTime | undefined): UnshardedTransaction {
    return new UnshardedTransaction(this, time);
  }

  async commit(
    change: UnshardedChange,
    tag: OutcomeTag | undefined,
    time: RecordedTime | undefined,
  ): Promise<IdRun[]> {
    this.assertQueuesExist(change);
    const { instance } = this.#options;
    const outcome = tag && {
      sessionId: tag.entry.sessionId,
      transactionNumber: tag.transactionNumber,
      instance,
    };
    const runs = await this.#writes.commit({ ...change, outcome }, time);
    if (tag !== undefined) {
      tag.entry.recordCommit(tag.transactionNumber, runs);
      tag.entry.inUnshardedFile = true;
    }
    this.totals.enqueued += change.enqueued.length;
    this.totals.consumed += change.consumed.length;
    this.totals.commits += 1;
    this.totals.groups = this.#writes.groupCount;
    this.totals.syncs = this.#writes.syncCount;
    if (!this.#writes.announcesReady)
      this.#serveAll(new Set(change.enqueued.map((message) => message.queueId)));
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
    options: ValidDequeueOptions,
    onDelivery: (delivery: UnshardedDelivery) => void,
  ): Promise<Message[]> {
    const waiters = this.#waitersOf(queue.queueId);
    const request = { queue, max: options.max, onDelivery };
    const noticesBefore = this.#readyNotices;
    if (waiters.size === 0 || this.#writes.announcesReady) {
      const rows = await this.#writes.claim(queue.queueId, options.max, options.time);
      if (rows.length > 0) return this.#toMessages(request, rows);
    }
    if (options.waitMs === 0) {
      options.time?.answer();
      return [];
    }
    const messages = waiters.wait(request, options);
    // A message may have arrived between the check and the wait.
    if (!this.#writes.announcesReady || this.#readyNotices !== noticesBefore) void this.#serve(queue.queueId);
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
    if (this.#serving.has(queueId)) {
      this.#serving.set(queueId, true);
      return;
    }
    do {
      const waiters = this.#waiters.get(queueId);
      if (waiters === undefined || waiters.size === 0) break;
      this.#serving.set(queueId, false);
      try {
        await this.#writes.serve(queueId, this.#claimingCalls(waiters));
      } catch (error) {
        for (const waiter of waiters) {
          waiter.finish(
            error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error }),
          );
        }
      }
    } while (this.#serving.get(queueId));
    this.#serving.delete(queueId);
  }

  /** The waiting calls in order; those that begin to wait meanwhile too. */
  #claimingCalls(waiters: Waiters<ClaimRequest>): Iterable<ClaimingCall> {
    const toMessages = this.#toMessages.bind(this);
    return {
      *[Symbol.iterator]() {
        for (const waiter of waiters) {
          const { request } = waiter;
          const finish = (rows: readonly ClaimedRow[]) =>
            waiter.isWaiting && waiter.finish(toMessages(request, rows));
          yield { max: request.max, finish };
        }
      },
    };
  }

  async receive(queue: QueueRow, options: ValidReceiveOptions): Promise<Message[]> {
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
      await this.#writes.release(deliveries);
    } catch (error) {
      this.#failedNacks.push(...deliveries);
      throw error;
    }
    if (!this.#writes.announcesReady) this.#serveAll(new Set(deliveries.map((delivery) => delivery.queueId)));
  }

  #nackInBackground(deliveries: readonly UnshardedDelivery[]): void {
    this.nack(deliveries).catch(() => undefined); // kept in `#failedNacks` and retried
  }

  counts(queue: QueueRow): QueueCounts {
    const none = { cacheBytes: 0, delayed: 0, forwardedIn: 0, forwardedOut: 0, refused: 0, lost: 0 };
    return { shards: 0, ...none, ...this.#file.opened.counts(queue.queueId) };
  }

  shardStats(queue: QueueRow): ShardStats[] {
    const { ready, held } = this.counts(queue);
    return [{ shard: 0, queue: queue.name, backlog: ready + held, cacheBytes: 0, partitions: [] }];
  }

  queueStats(queue: QueueRow): QueueStats {
    const { shards: _none, cacheBytes: _nothing, ready, held, ...counts } = this.counts(queue);
    const flow = this.#file.opened.flow(queue.queueId);
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
        ? this.#file.opened.browse(queue.queueId, afterId, limit + 1)
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
      const rows = this.#file.opened.browse(queueId, after, limits.searchRowsPerTurn);
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
    await this.#writes.drop(queue.queueId);
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
    await this.#writes.close(this.#options.outcomes.sessionsToForgetInUnshardedFile);
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
