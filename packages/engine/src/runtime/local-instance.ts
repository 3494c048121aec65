/** One instance in this process: its catalog of queues, its sessions and its statistics, over the two kinds of queue. */
import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import type { InstanceStats, ShardStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { QueueInfo, QueueSpec } from '../api/queue.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { SubscriberInfo, SubscriberSpec } from '../api/subscriber.ts';
import type { WaitRecorder } from '../api/waits.ts';
import type { CommitOutcomes } from '../commit/commit-outcomes.ts';
import type { InstanceForwarding } from '../forwarding/instance-forwarding.ts';
import type { Interconnect } from '../forwarding/interconnect.ts';
import { CorrelationKey } from '../model/correlation-key.ts';
import type { ChunkKey } from '../model/payload-chunk.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { pickQueueSettings } from '../model/queue-settings.ts';
import { validateSubscriber } from '../model/validate-call.ts';
import type { GoneCode, QueueCounts, QueueEngine } from '../queues/queue-engine.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import type { UnshardedEngine } from '../unsharded/unsharded-engine.ts';
import type { ShardedParts } from './assemble-sharded.ts';
import { InstanceSession } from './instance-session.ts';
import type { Scrubber } from './scrubber.ts';
import { TopicSubscribers } from './topic-subscribers.ts';
import { validateQueueSpec } from './validate-queue-spec.ts';

/** How often an instance checks whether another process changed the catalog, milliseconds. A check costs microseconds. */
const catalogPollMs = 100;

interface LocalInstanceParts {
  id: number;
  dir: string;
  catalog: Catalog;
  waits: WaitRecorder;
  ports: Pick<Ports, 'clock' | 'timers'>;
  outcomes: CommitOutcomes;
  sharded: ShardedParts;
  unsharded: UnshardedEngine;
  scrubber: Scrubber;
  /** The cache size is the catalog's, because the instance was opened without `cacheBytesMax`. */
  followsCacheSize: boolean;
  /** Called when the instance stops serving without having been closed. */
  onEnded?(error: QueueError): void;
  /** All files are closed: any process can host the instance. */
  onClosed(): void;
}

export class LocalInstance implements Instance {
  readonly id: number;
  /** Folder of its cluster. */
  readonly dir: string;
  readonly waits: WaitRecorder;
  readonly #outcomes: CommitOutcomes;
  readonly #catalog: Catalog;
  readonly #sharded: ShardedParts;
  readonly #unsharded: UnshardedEngine;
  readonly #scrubber: Scrubber;
  readonly #subscribers: TopicSubscribers;
  readonly #followsCacheSize: boolean;
  readonly #sessions = new Map<number, InstanceSession>();
  readonly #onEnded: LocalInstanceParts['onEnded'];
  readonly #onClosed: LocalInstanceParts['onClosed'];
  #acceptsMessages = true;
  #interconnect: Interconnect | undefined;
  /** The other instances of the cluster that a process hosts. */
  #otherHostedInstances: readonly number[] = [];
  #queues = new Map<string, QueueRow>();
  #catalogVersion: number;
  /** The instance that stores the application's tables, once known: it never changes. */
  #sqlInstance: number | undefined;
  #lastSessionNumber = 0;
  #endReason: QueueError | undefined;
  #closing: Promise<void> | undefined;
  readonly #catalogTimer: Timer;

  constructor(parts: LocalInstanceParts) {
    this.id = parts.id;
    this.dir = parts.dir;
    this.waits = parts.waits;
    this.#outcomes = parts.outcomes;
    this.#catalog = parts.catalog;
    this.#sharded = parts.sharded;
    this.#unsharded = parts.unsharded;
    this.#scrubber = parts.scrubber;
    this.#subscribers = new TopicSubscribers({
      instance: parts.id,
      catalog: parts.catalog,
      topics: parts.sharded.subscriberChanges,
      ports: parts.ports,
    });
    this.#followsCacheSize = parts.followsCacheSize;
    this.#onEnded = parts.onEnded;
    this.#onClosed = parts.onClosed;
    this.#catalogVersion = parts.catalog.dataVersion();
    this.#readCatalog();
    this.#catalogTimer = parts.ports.timers.every(catalogPollMs, () => this.#refreshCatalogInBackground());
  }

  /** False once the instance is to leave the cluster: it then only delivers the messages that it has. */
  set acceptsMessages(takes: boolean) {
    this.#acceptsMessages = takes;
    this.#sharded.forwarding.acceptsMessages = takes;
  }

  get forwarding(): InstanceForwarding {
    return this.#sharded.forwarding;
  }

  /** Reads a chunk of a streamed payload, whose key is in its message. Throws `PAYLOAD_GONE`, `STORAGE_CORRUPT`. */
  readChunk(place: ChunkKey): Promise<Uint8Array> {
    return this.#sharded.payloads.readChunk(place);
  }

  get otherHostedInstances(): readonly number[] {
    return this.#otherHostedInstances;
  }

  /** From now on messages can come from the other instances and go to them. */
  connectInterconnect(interconnect: Interconnect): void {
    this.#interconnect = interconnect;
    this.#sharded.forwarding.connect(interconnect);
  }

  async disconnect(): Promise<void> {
    this.#interconnect = undefined;
    await this.#sharded.forwarding.disconnect();
  }

  #engineOf(row: Pick<QueueRow, 'kind'>): QueueEngine {
    return row.kind === 'sharded' ? this.#sharded.engine : this.#unsharded;
  }

  #refreshCatalogInBackground(): void {
    try {
      this.#refreshCatalog();
    } catch {
      // The next check tries again, and a call that needs the catalog gets the error.
    }
  }

  #refreshCatalog(): void {
    const version = this.#catalog.dataVersion();
    if (version === this.#catalogVersion) return;
    this.#catalogVersion = version;
    this.#readCatalog();
  }

  /** Applies the catalog: new and dropped queues, started and stopped ones. */
  #readCatalog(): void {
    this.#refreshPeers();
    const before = this.#queues;
    this.#queues = new Map(this.#catalog.queues().map((row) => [row.name, row]));
    for (const old of before.values()) {
      const now = this.#queues.get(old.name);
      if (now?.queueId !== old.queueId) {
        // What could not be removed now is removed when the instance is opened again.
        this.#engineOf(old)
          .lifecycle.drop(old, this.#goneCode(old))
          .catch(() => undefined);
      } else if (old.dequeueEnabled && !now.dequeueEnabled) this.#engineOf(now).lifecycle.stopDequeue(now);
    }
    const cacheBytesMax = this.#catalog.cacheBytesMax();
    if (this.#followsCacheSize && cacheBytesMax !== null) this.#sharded.cache.bytesMax = cacheBytesMax;
    // What fails is tried again at the next check.
    this.applyCatalogSubscribers().catch(() => {
      this.#catalogVersion = -1;
    });
  }

  #goneCode({ name, queueId }: QueueRow): GoneCode {
    return this.#catalog.conversion(name)?.queueId === queueId ? 'QUEUE_CONVERTED' : 'QUEUE_DROPPED';
  }

  #refreshPeers(): void {
    const hosted = this.#catalog.hostedInstances().filter((instance) => instance !== this.id);
    if (hosted.join() === this.#otherHostedInstances.join()) return;
    this.#otherHostedInstances = hosted;
    if (this.#interconnect !== undefined) this.#sharded.forwarding.connect(this.#interconnect);
  }

  #find(name: string): { row: QueueRow; engine: QueueEngine } {
    if (this.#endReason !== undefined) throw this.#endReason;
    let row = this.#queues.get(name);
    if (row === undefined) {
      this.#refreshCatalog(); // another process may have created it just now
      row = this.#queues.get(name);
    }
    if (row === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    return { row, engine: this.#engineOf(row) };
  }

  async createQueue(spec: QueueSpec): Promise<QueueInfo> {
    if (this.#endReason !== undefined) throw this.#endReason;
    const row = validateQueueSpec(spec);
    this.#assertCacheCapacity(row.cacheBytesMin);
    this.#catalog.createQueue(row);
    this.#readCatalog();
    return this.queue(spec.name);
  }

  /** The cache must be large enough for what is reserved for each queue. */
  #assertCacheCapacity(cacheBytesMin: number): void {
    if (cacheBytesMin === 0) return;
    let kept = cacheBytesMin;
    for (const row of this.#queues.values()) kept += row.cacheBytesMin;
    const cacheBytesMax = this.#sharded.cache.bytesMax;
    if (kept <= cacheBytesMax) return;
    throw new QueueError('QUEUE_SPEC_INVALID', {
      message: `With cacheBytesMin ${cacheBytesMin} the message cache would have to keep ${kept} bytes for its queues, and it has ${cacheBytesMax}`,
      details: { cacheBytesMin, kept, instanceCacheBytesMax: cacheBytesMax },
    });
  }

  async dropQueue(name: string): Promise<void> {
    const { row, engine } = this.#find(name);
    if (!this.#catalog.dropQueue(name)) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    this.#queues.delete(name);
    await engine.lifecycle.drop(row, 'QUEUE_DROPPED');
  }

  async startQueue(
    name: string,
    which: { enqueue?: boolean; dequeue?: boolean } = { enqueue: true, dequeue: true },
  ) {
    return this.#enable(name, which, true);
  }

  async stopQueue(
    name: string,
    which: { enqueue?: boolean; dequeue?: boolean } = { enqueue: true, dequeue: true },
  ) {
    return this.#enable(name, which, false);
  }

  #enable(name: string, which: { enqueue?: boolean; dequeue?: boolean }, enabled: boolean): QueueInfo {
    this.#find(name);
    this.#catalog.setQueueEnabled(name, {
      enqueue: which.enqueue ? enabled : undefined,
      dequeue: which.dequeue ? enabled : undefined,
    });
    this.#readCatalog();
    return this.queue(name);
  }

  queues(): QueueInfo[] {
    if (this.#endReason !== undefined) throw this.#endReason;
    this.#refreshCatalog();
    return [...this.#queues.values()].map((row) => this.#infoOrFault(row));
  }

  /** A queue whose file cannot be read must not keep the others out of a list. */
  #infoOrFault(row: QueueRow): QueueInfo {
    try {
      return this.#info(row, this.#engineOf(row).statistics.counts(row));
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      const none = {
        ready: 0,
        held: 0,
        delayed: 0,
        enqueued: 0,
        consumed: 0,
        forwardedIn: 0,
        forwardedOut: 0,
      };
      const unknown = { shards: row.shards, cacheBytes: 0, ...none };
      return { ...this.#info(row, unknown), fault: { code: error.code, message: error.message } };
    }
  }

  queue(name: string): QueueInfo {
    const { row, engine } = this.#find(name);
    return this.#info(row, engine.statistics.counts(row));
  }

  #info(row: QueueRow, counts: QueueCounts): QueueInfo {
    const { name, enqueueEnabled, dequeueEnabled } = row;
    const exceptionQueue = this.#nameOf(row.exceptionQueueId);
    return { name, ...pickQueueSettings(row), exceptionQueue, enqueueEnabled, dequeueEnabled, ...counts };
  }

  #nameOf(queueId: number | null): string | null {
    for (const row of this.#queues.values()) if (row.queueId === queueId) return row.name;
    return null;
  }

  async subscribe(topic: string, spec: SubscriberSpec): Promise<SubscriberInfo> {
    return this.#subscribers.add(this.#findTopic(topic), spec);
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    await this.#subscribers.remove(this.#findTopic(topic), name);
  }

  subscribers(topic: string): SubscriberInfo[] {
    return this.#sharded.subscriberChanges.subscribers(this.#findTopic(topic));
  }

  #findTopic(name: string): QueueRow {
    const { row } = this.#find(name);
    if (row.type === 'topic') return row;
    throw new QueueError('OPTIONS_INVALID', { message: `${name} is a queue: it has no subscribers` });
  }

  /** Resolves when the topics have the subscribers of the catalog: the instance must not serve them before. */
  async applyCatalogSubscribers(): Promise<void> {
    const topics = [...this.#queues.values()].filter(({ type }) => type === 'topic');
    await Promise.all(topics.map((row) => this.#subscribers.apply(row)));
  }

  openSession(): InstanceSession {
    if (this.#endReason !== undefined) throw this.#endReason;
    if (this.#closing !== undefined)
      throw new QueueError('INSTANCE_CLOSED', { details: { instance: this.id } });
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    }
    this.#lastSessionNumber += 1;
    const session = new InstanceSession(this.id, this.#lastSessionNumber, {
      findQueue: (queue) => this.#find(queue),
      sqlEngine: () => this.#sqlEngine(),
      assertAcceptsMessages: () => {
        if (!this.#acceptsMessages)
          throw new QueueError('INSTANCE_LEAVING', { details: { instance: this.id } });
      },
      onSessionClosed: (sessionNumber) => {
        this.#sharded.queues.unbindSession(sessionNumber);
        this.#sessions.delete(sessionNumber);
      },
    });
    this.#sessions.set(this.#lastSessionNumber, session);
    return session;
  }

  /** The instance that gets the first SQL statement of the application in a cluster keeps the application's tables. */
  #sqlEngine(): QueueEngine {
    if (this.#endReason !== undefined) throw this.#endReason;
    this.#sqlInstance ??= this.#catalog.sqlInstance() ?? this.#catalog.claimSqlInstance(this.id);
    if (this.#sqlInstance === this.id) return this.#sharded.engine;
    if (this.#sqlInstance === undefined) {
      throw new QueueError('INSTANCE_LEAVING', { details: { instance: this.id } });
    }
    throw new QueueError('SQL_ELSEWHERE', {
      message: `The application's tables are on instance ${this.#sqlInstance}`,
      details: { instance: this.id, sqlInstance: this.#sqlInstance },
    });
  }

  /** The outcomes of remote sessions. From the first call on they include those of sessions on unsharded queues before a restart. */
  recoverOutcomes(): CommitOutcomes {
    this.#unsharded.recoverOutcomes();
    return this.#outcomes;
  }

  async browse(
    queue: string,
    { limit = 100, after, subscriber, correlationId }: Parameters<Instance['browse']>[1] = {},
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    const { row, engine } = this.#find(queue);
    if (!Number.isInteger(limit) || limit < 1 || limit > limits.browseMessagesMax) {
      throw new QueueError('OPTIONS_INVALID', { message: `limit must be 1 to ${limits.browseMessagesMax}` });
    }
    validateSubscriber(row, subscriber);
    const key = correlationId === undefined ? undefined : new CorrelationKey(correlationId);
    return engine.browser.browse(row, { limit, after, subscriber, key });
  }

  stats(): InstanceStats {
    if (this.#endReason !== undefined) throw this.#endReason;
    const [sharded, unsharded] = [this.#sharded.engine.statistics.totals, this.#unsharded.totals];
    const { user, system } = process.threadCpuUsage();
    return {
      instance: this.id,
      epoch: this.epoch,
      enqueued: sharded.enqueued + unsharded.enqueued,
      consumed: sharded.consumed + unsharded.consumed,
      commits: sharded.commits + unsharded.commits,
      groups: sharded.groups + unsharded.groups,
      cpu: { sessionUs: user + system, writerUs: this.#sharded.writer.cpuUs },
      shards: [...this.#queues.values()].flatMap((row) => this.#shardStats(row)),
      scrub: this.#scrubber.stats,
    };
  }

  queueStats(name: string): QueueStats {
    const { row, engine } = this.#find(name);
    return engine.statistics.queueStats(row);
  }

  /** Empty for a queue whose file cannot be read: its `QueueInfo` has the error. */
  #shardStats(row: QueueRow): ShardStats[] {
    try {
      return this.#engineOf(row).statistics.shardStats(row);
    } catch (error) {
      if (error instanceof QueueError) return [];
      throw error;
    }
  }

  /** The epoch of this opening; stored in the instance's file, and raised by each opening. */
  get epoch(): number {
    return this.#sharded.epoch;
  }

  /** Why nothing is served any more. */
  get endReason(): QueueError | undefined {
    return this.#endReason;
  }

  /** No committed message is here and none is on its way. With `acceptsMessages` false it stays so. */
  get isEmpty(): boolean {
    const { queues, delayed, groupCommit, forwarding } = this.#sharded;
    const logs = [...queues].flatMap((queue) => queue.logs);
    const hasNone = logs.every((log) => log.backlog === 0) && delayed.total === 0;
    return groupCommit.isIdle && forwarding.isQuiescent && hasNone;
  }

  /** Why the instance cannot be relied on to serve; undefined while it is healthy. */
  unhealthyReason(writerSilentMsMax: number): string | undefined {
    if (this.#endReason !== undefined) return this.#endReason.code;
    if (this.#sharded.writer.silentMs <= writerSilentMsMax) return undefined;
    return `the writer thread has not answered for over ${writerSilentMsMax} ms`;
  }

  /** The lease is held again after it had lapsed: serves calls that waited meanwhile. */
  onLeaseRegained(): void {
    this.#sharded.queues.serveAllWaiters();
  }

  /** Storage failed: nothing more is served until the instance is opened again, which recovers. */
  fail(error: QueueError): void {
    if (error.code === 'INSTANCE_FENCED') this.fence(error);
    else if (error.code === 'INSTANCE_FAILED' || error.code === 'INVARIANT_BROKEN') this.#end(error);
    else this.#end(new QueueError('INSTANCE_FAILED', { cause: error, details: { cause: error.code } }));
  }

  /** Another process hosts the instance. Commits in progress still go to the writer: the epoch in the file refuses them. */
  fence(error: QueueError): void {
    this.#end(error);
  }

  #end(error: QueueError): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = error;
    this.#sharded.queues.rejectWaiters(error);
    this.#unsharded.rejectWaiters(error);
    this.#onEnded?.(error);
  }

  /** Whether storage failed. Whether commits in progress at that time are durable, only recovery can tell. */
  get failed(): boolean {
    const code = this.#endReason?.code;
    return code === 'INSTANCE_FAILED' || code === 'INVARIANT_BROKEN';
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#catalogTimer.cancel();
    const closed = new QueueError('INSTANCE_CLOSED', { details: { instance: this.id } });
    const fenced = this.#endReason?.code === 'INSTANCE_FENCED';
    try {
      await this.#scrubber.close();
      await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
      this.#endReason = closed;
      await this.#sharded.close();
      await this.#unsharded.close();
      if (!fenced) this.#catalog.subscribers.removeOfInstance(this.id); // else they belong to the process that took over
    } finally {
      this.#endReason = closed;
      this.#catalog.close();
      this.#onClosed();
    }
  }
}
