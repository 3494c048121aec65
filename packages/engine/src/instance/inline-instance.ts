/** One instance in this process: its queues, sessions and figures over the engines that do the work. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueStats } from '../queue-stats.ts';
import type { Catalog, QueueRow } from '../storage/catalog.ts';
import { CorrelationKey } from '../storage/correlation-index.ts';
import type { ChunkPlace } from '../storage/payload-table.ts';
import type {
  BrowsedMessage,
  Instance,
  InstanceStats,
  QueueInfo,
  QueueSpec,
  ShardStats,
  SubscriberInfo,
  SubscriberSpec,
} from '../types.ts';
import type { Forwarding } from './forwarding/forwarding.ts';
import type { Interconnect } from './forwarding/interconnect.ts';
import type { OutcomeBook } from './outcome-book.ts';
import type { GoneCode, QueueCounts, QueueEngine } from './queue-engine.ts';
import { checkSpec } from './queue-spec.ts';
import { InstanceSession } from './session.ts';
import type { ShardedEngine } from './sharded-engine.ts';
import { assertSubscriberFits } from './subscription.ts';
import { TopicSubscribers } from './topic-subscribers.ts';
import type { UnshardedEngine } from './unsharded-engine.ts';

/** How often an instance looks whether another process changed the catalog, milliseconds; a look costs microseconds. */
const catalogLookMs = 100;

interface InlineInstanceParts {
  id: number;
  dir: string;
  catalog: Catalog;
  waits: WaitRecorder;
  book: OutcomeBook;
  sharded: ShardedEngine;
  unsharded: UnshardedEngine;
  /** The bound of its message cache is the one of the catalog: it was opened without one of its own. */
  followsCacheSize: boolean;
  /** Nothing more is served, before anybody asked for it. */
  onEnded?(error: QueueError): void;
  /** All files are closed: the instance is free for whoever wants to host it. */
  onClosed(): void;
}

export class InlineInstance implements Instance {
  readonly id: number;
  /** Folder of its cluster. */
  readonly dir: string;
  readonly waits: WaitRecorder;
  readonly #book: OutcomeBook;
  readonly #catalog: Catalog;
  readonly #sharded: ShardedEngine;
  readonly #unsharded: UnshardedEngine;
  readonly #subscribers: TopicSubscribers;
  readonly #followsCacheSize: boolean;
  readonly #sessions = new Map<number, InstanceSession>();
  readonly #onEnded: InlineInstanceParts['onEnded'];
  readonly #onClosed: InlineInstanceParts['onClosed'];
  #takesMessages = true;
  #interconnect: Interconnect | undefined;
  /** The other instances of the cluster that a process hosts. */
  #hostedBeside: readonly number[] = [];
  #queues = new Map<string, QueueRow>();
  #catalogVersion: number;
  /** The instance that the application's tables lie on, once that is known: it stays. */
  #applicationHome: number | undefined;
  #lastSession = 0;
  #ended: QueueError | undefined;
  #closing: Promise<void> | undefined;
  readonly #looking: NodeJS.Timeout;

  constructor(parts: InlineInstanceParts) {
    this.id = parts.id;
    this.dir = parts.dir;
    this.waits = parts.waits;
    this.#book = parts.book;
    this.#catalog = parts.catalog;
    this.#sharded = parts.sharded;
    this.#unsharded = parts.unsharded;
    this.#subscribers = new TopicSubscribers(parts.id, parts.catalog);
    this.#followsCacheSize = parts.followsCacheSize;
    this.#onEnded = parts.onEnded;
    this.#onClosed = parts.onClosed;
    this.#catalogVersion = parts.catalog.version();
    this.#readCatalog();
    this.#looking = setInterval(() => this.#lookInBackground(), catalogLookMs).unref();
  }

  /** False once the instance is to leave the cluster: it then only hands out what it has. */
  set takesMessages(takes: boolean) {
    this.#takesMessages = takes;
    this.#sharded.forwarding.takesMessages = takes;
  }

  get forwarding(): Forwarding {
    return this.#sharded.forwarding;
  }

  /** A chunk of a streamed payload, for who knows it from its message. Throws `PAYLOAD_GONE`, `STORAGE_CORRUPT`. */
  readChunk(place: ChunkPlace): Promise<Uint8Array> {
    return this.#sharded.payloads.read(place);
  }

  get hostedBeside(): readonly number[] {
    return this.#hostedBeside;
  }

  /** From now on messages can come from the other instances and go to them. */
  connectTo(interconnect: Interconnect): void {
    this.#interconnect = interconnect;
    this.#sharded.forwarding.connect(interconnect);
  }

  async disconnect(): Promise<void> {
    this.#interconnect = undefined;
    await this.#sharded.forwarding.disconnect();
  }

  #engineOf(row: Pick<QueueRow, 'kind'>): QueueEngine {
    return row.kind === 'sharded' ? this.#sharded : this.#unsharded;
  }

  #lookInBackground(): void {
    try {
      this.#lookForChanges();
    } catch {
      // The next look tries again, and a call that needs the catalog gets the error.
    }
  }

  #lookForChanges(): void {
    const version = this.#catalog.version();
    if (version === this.#catalogVersion) return;
    this.#catalogVersion = version;
    this.#readCatalog();
  }

  /** Takes over what the catalog says: new queues, dropped ones, started and stopped ones. */
  #readCatalog(): void {
    this.#lookForPeers();
    const before = this.#queues;
    this.#queues = new Map(this.#catalog.queues().map((row) => [row.name, row]));
    for (const old of before.values()) {
      const now = this.#queues.get(old.name);
      if (now?.queueId !== old.queueId) {
        // What could not be removed now is removed when the instance is opened again.
        this.#engineOf(old)
          .drop(old, this.#whyGone(old))
          .catch(() => undefined);
      } else if (old.dequeueEnabled && !now.dequeueEnabled) this.#engineOf(now).stopDequeue(now);
    }
    const cacheBytesMax = this.#catalog.cacheBytesMax();
    if (this.#followsCacheSize && cacheBytesMax !== null) this.#sharded.cacheBytesMax = cacheBytesMax;
    // What fails now is tried again at the next look.
    this.subscribersReady().catch(() => {
      this.#catalogVersion = -1;
    });
  }

  #whyGone({ name, queueId }: QueueRow): GoneCode {
    return this.#catalog.conversion(name)?.queueId === queueId ? 'QUEUE_CONVERTED' : 'QUEUE_DROPPED';
  }

  #lookForPeers(): void {
    const hosted = this.#catalog.hosted().filter((instance) => instance !== this.id);
    if (hosted.join() === this.#hostedBeside.join()) return;
    this.#hostedBeside = hosted;
    if (this.#interconnect !== undefined) this.#sharded.forwarding.connect(this.#interconnect);
  }

  #find(name: string): { row: QueueRow; engine: QueueEngine } {
    if (this.#ended !== undefined) throw this.#ended;
    let row = this.#queues.get(name);
    if (row === undefined) {
      this.#lookForChanges(); // another process may just have made it
      row = this.#queues.get(name);
    }
    if (row === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    return { row, engine: this.#engineOf(row) };
  }

  async createQueue(spec: QueueSpec): Promise<QueueInfo> {
    if (this.#ended !== undefined) throw this.#ended;
    const row = checkSpec(spec);
    this.#assertCacheRoom(row.cacheBytesMin);
    this.#catalog.createQueue(row);
    this.#readCatalog();
    return this.queue(spec.name);
  }

  /** What is kept for each queue must fit together. */
  #assertCacheRoom(cacheBytesMin: number): void {
    if (cacheBytesMin === 0) return;
    let kept = cacheBytesMin;
    for (const row of this.#queues.values()) kept += row.cacheBytesMin;
    const { cacheBytesMax } = this.#sharded;
    if (kept <= cacheBytesMax) return;
    throw new QueueError('QUEUE_SPEC_INVALID', {
      sentence: `With cacheBytesMin ${cacheBytesMin} the message cache would have to keep ${kept} bytes for its queues, and it has ${cacheBytesMax}`,
      details: { cacheBytesMin, kept, instanceCacheBytesMax: cacheBytesMax },
    });
  }

  async dropQueue(name: string): Promise<void> {
    const { row, engine } = this.#find(name);
    if (!this.#catalog.dropQueue(name)) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    this.#queues.delete(name);
    await engine.drop(row, 'QUEUE_DROPPED');
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
    this.#catalog.enableQueue(name, {
      enqueue: which.enqueue ? enabled : undefined,
      dequeue: which.dequeue ? enabled : undefined,
    });
    this.#readCatalog();
    return this.queue(name);
  }

  queues(): QueueInfo[] {
    if (this.#ended !== undefined) throw this.#ended;
    this.#lookForChanges();
    return [...this.#queues.values()].map((row) => this.#infoOrFault(row));
  }

  /** A queue whose file cannot be read must not keep the others out of a list. */
  #infoOrFault(row: QueueRow): QueueInfo {
    try {
      return this.#info(row, this.#engineOf(row).counts(row));
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      const none = { ready: 0, held: 0, delayed: 0, enqueued: 0, consumed: 0, movedIn: 0, movedOut: 0 };
      const unknown = { shards: row.shards, cacheBytes: 0, ...none };
      return { ...this.#info(row, unknown), fault: { code: error.code, message: error.message } };
    }
  }

  queue(name: string): QueueInfo {
    const { row, engine } = this.#find(name);
    return this.#info(row, engine.counts(row));
  }

  #info(row: QueueRow, counts: QueueCounts): QueueInfo {
    const { name, kind, type, durability, priorities, attemptsMax, retryDelayMs, forwarding } = row;
    const { cacheBytesMin, cacheBytesMax, correlationIndex, enqueueEnabled, dequeueEnabled } = row;
    const exceptionQueue = this.#nameOf(row.exceptionQueueId);
    const spec = {
      name,
      kind,
      type,
      durability,
      priorities,
      attemptsMax,
      retryDelayMs,
      exceptionQueue,
      forwarding,
      cacheBytesMin,
      cacheBytesMax,
      correlationIndex,
    };
    return { ...spec, enqueueEnabled, dequeueEnabled, ...counts };
  }

  #nameOf(queueId: number | null): string | null {
    for (const row of this.#queues.values()) if (row.queueId === queueId) return row.name;
    return null;
  }

  async subscribe(topic: string, spec: SubscriberSpec): Promise<SubscriberInfo> {
    const { row, engine } = this.#findTopic(topic);
    return this.#subscribers.add(row, engine, spec);
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    const { row, engine } = this.#findTopic(topic);
    await this.#subscribers.remove(row, engine, name);
  }

  subscribers(topic: string): SubscriberInfo[] {
    const { row, engine } = this.#findTopic(topic);
    return engine.subscribers(row);
  }

  #findTopic(name: string): { row: QueueRow; engine: QueueEngine } {
    const found = this.#find(name);
    if (found.row.type === 'topic') return found;
    throw new QueueError('OPTIONS_INVALID', { sentence: `${name} is a queue: it has no subscribers` });
  }

  /** Resolves when what the catalog says of topics is taken over: only then the instance may serve them. */
  async subscribersReady(): Promise<void> {
    const topics = [...this.#queues.values()].filter(({ type }) => type === 'topic');
    await Promise.all(topics.map((row) => this.#subscribers.apply(row, this.#engineOf(row))));
  }

  openSession(): InstanceSession {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#closing !== undefined)
      throw new QueueError('INSTANCE_CLOSED', { details: { instance: this.id } });
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    }
    this.#lastSession += 1;
    const session = new InstanceSession(this.id, this.#lastSession, {
      find: (queue) => this.#find(queue),
      applicationEngine: () => this.#applicationEngine(),
      assertTakesMessages: () => {
        if (!this.#takesMessages)
          throw new QueueError('INSTANCE_LEAVING', { details: { instance: this.id } });
      },
      onSessionClosed: (no) => {
        this.#sharded.endSession(no);
        this.#unsharded.endSession(no);
        this.#sessions.delete(no);
      },
    });
    this.#sessions.set(this.#lastSession, session);
    return session;
  }

  /** The first statement of the application in a cluster makes the instance that it came to the home of its tables. */
  #applicationEngine(): QueueEngine {
    if (this.#ended !== undefined) throw this.#ended;
    this.#applicationHome ??= this.#catalog.applicationHome() ?? this.#catalog.claimApplicationHome(this.id);
    if (this.#applicationHome === this.id) return this.#sharded;
    if (this.#applicationHome === undefined) {
      throw new QueueError('INSTANCE_LEAVING', { details: { instance: this.id } });
    }
    throw new QueueError('SQL_ELSEWHERE', {
      sentence: `The application's tables lie on instance ${this.#applicationHome}`,
      details: { instance: this.id, home: this.#applicationHome },
    });
  }

  /** Of remote sessions; from the first call on it also knows what earlier processes served. */
  recoverOutcomes(): OutcomeBook {
    this.#unsharded.recoverOutcomes();
    return this.#book;
  }

  async browse(
    queue: string,
    { limit = 100, after, subscriber, correlationId }: Parameters<Instance['browse']>[1] = {},
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    const { row, engine } = this.#find(queue);
    if (!Number.isInteger(limit) || limit < 1 || limit > limits.browseMax) {
      throw new QueueError('OPTIONS_INVALID', { sentence: `limit must be 1 to ${limits.browseMax}` });
    }
    assertSubscriberFits(row, subscriber);
    const key = correlationId === undefined ? undefined : new CorrelationKey(correlationId);
    return engine.browse(row, { limit, after, subscriber, key });
  }

  stats(): InstanceStats {
    if (this.#ended !== undefined) throw this.#ended;
    const [sharded, unsharded] = [this.#sharded.totals, this.#unsharded.totals];
    const { user, system } = process.threadCpuUsage();
    return {
      instance: this.id,
      epoch: this.epoch,
      enqueued: sharded.enqueued + unsharded.enqueued,
      consumed: sharded.consumed + unsharded.consumed,
      commits: sharded.commits + unsharded.commits,
      groups: sharded.groups + unsharded.groups,
      cpu: { sessionUs: user + system, writerUs: this.#sharded.writerCpuUs },
      shards: [...this.#queues.values()].flatMap((row) => this.#shardStats(row)),
    };
  }

  queueStats(name: string): QueueStats {
    const { row, engine } = this.#find(name);
    return engine.queueStats(row);
  }

  /** None of a queue whose file cannot be read; what it is about is said by its `QueueInfo`. */
  #shardStats(row: QueueRow): ShardStats[] {
    try {
      return this.#engineOf(row).shardStats(row);
    } catch (error) {
      if (error instanceof QueueError) return [];
      throw error;
    }
  }

  /** Raised in the instance's file when it was opened. */
  get epoch(): number {
    return this.#sharded.epoch;
  }

  /** Why nothing is served any more. */
  get ended(): QueueError | undefined {
    return this.#ended;
  }

  /** No message that is committed waits here, and none is on its way; with `takesMessages` false that is for good. */
  get isEmpty(): boolean {
    return this.#sharded.isEmpty;
  }

  /** Why the instance should not be relied on to serve; undefined while all is well. */
  illness(writerSilentMsMax: number): string | undefined {
    if (this.#ended !== undefined) return this.#ended.code;
    if (this.#sharded.writerSilentMs <= writerSilentMsMax) return undefined;
    return `the writer thread has not answered for over ${writerSilentMsMax} ms`;
  }

  /** The lease is held again after it had lapsed. */
  resume(): void {
    this.#sharded.serveAll();
  }

  /** Storage gave out: nothing more is served; opening the instance again recovers. */
  fail(error: QueueError): void {
    if (error.code === 'INSTANCE_FENCED') this.fence(error);
    else if (error.code === 'INSTANCE_FAILED') this.#end(error);
    else this.#end(new QueueError('INSTANCE_FAILED', { cause: error, details: { cause: error.code } }));
  }

  /** Another process has the instance. Commits on their way still go to the writer: the epoch in the file decides. */
  fence(error: QueueError): void {
    this.#end(error);
  }

  #end(error: QueueError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#sharded.endWaits(error);
    this.#unsharded.endWaits(error);
    this.#onEnded?.(error);
  }

  /** Whether storage gave out: whether the commits under way then are done, only a recovery can tell. */
  get failed(): boolean {
    return this.#ended?.code === 'INSTANCE_FAILED';
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#looking);
    const closed = new QueueError('INSTANCE_CLOSED', { details: { instance: this.id } });
    const fenced = this.#ended?.code === 'INSTANCE_FENCED';
    try {
      await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
      this.#ended = closed;
      await this.#sharded.close();
      await this.#unsharded.close();
      if (!fenced) this.#catalog.subscribers.removeOfInstance(this.id); // else they are the next host's
    } finally {
      this.#ended = closed;
      this.#catalog.close();
      this.#onClosed();
    }
  }
}
