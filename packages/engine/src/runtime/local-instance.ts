/** One instance in this process: its sessions, its statistics and its end, over the kinds of queue. */
import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import type { InstanceStats, ShardStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { QueueInfo, QueueSpec } from '../api/queue.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { Json, ServiceInfo } from '../api/service.ts';
import type { SubscriberInfo, SubscriberSpec } from '../api/subscriber.ts';
import type { XaResource } from '../api/xa.ts';
import type { CommitOutcomes } from '../commit/commit-outcomes.ts';
import type { InstanceForwarding } from '../forwarding/instance-forwarding.ts';
import type { Interconnect } from '../forwarding/interconnect.ts';
import { CorrelationKey } from '../model/correlation-key.ts';
import type { ChunkKey } from '../model/payload-chunk.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { validateSubscriber, validateText } from '../model/session-calls.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { EngineTotals } from '../queues/queue-engine.ts';
import type { ServiceHost } from '../singletons/service-host.ts';
import type { ServiceState } from '../singletons/service-instance.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { logBytesOf } from '../storage/sqlite/log-bytes.ts';
import { unshardedPath } from '../storage/unsharded/unsharded-file.ts';
import type { UnshardedEngine } from '../unsharded/unsharded-engine.ts';
import { Coordinator } from '../xa/coordinator/coordinator.ts';
import { ServedBranches } from '../xa/served-branches.ts';
import type { HomeCaller } from '../xa/tight/home-caller.ts';
import type { HomePeers } from '../xa/tight/homes.ts';
import type { ShardedParts } from './assemble-sharded.ts';
import { InstanceSession } from './instance-session.ts';
import type { Scrubber } from './scrubber.ts';
import { ServedQueues } from './served-queues.ts';
import { SessionOfService } from './service-session.ts';
import { TopicSubscribers } from './topic-subscribers.ts';

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
  grouped: UnshardedEngine;
  scrubber: Scrubber;
  /** Its singleton services, which use it in turn. */
  createServices(instance: LocalInstance): ServiceHost;
  /** The cache size is the catalog's, because the instance was opened without `cacheBytesMax`. */
  emulatedInterconnectMs: number;
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
  /** Added to each request to another instance. */
  readonly emulatedInterconnectMs: number;
  readonly waits: WaitRecorder;
  readonly xa: XaResource;
  readonly #outcomes: CommitOutcomes;
  readonly #catalog: Catalog;
  readonly #ports: LocalInstanceParts['ports'];
  readonly #sharded: ShardedParts;
  readonly #unsharded: UnshardedEngine;
  readonly #grouped: UnshardedEngine;
  readonly #scrubber: Scrubber;
  readonly #services: ServiceHost;
  readonly #subscribers: TopicSubscribers;
  readonly #queues: ServedQueues;
  readonly #sessions = new Map<number, InstanceSession>();
  readonly #onEnded: LocalInstanceParts['onEnded'];
  readonly #onClosed: LocalInstanceParts['onClosed'];
  #interconnect: Interconnect | undefined;
  /** The other instances of the cluster that a process hosts. */
  #otherHostedInstances: readonly number[] = [];
  #lastSessionNumber = 0;
  #closing: Promise<void> | undefined;
  readonly #catalogTimer: Timer;

  constructor(parts: LocalInstanceParts) {
    this.id = parts.id;
    this.dir = parts.dir;
    this.emulatedInterconnectMs = parts.emulatedInterconnectMs;
    this.waits = parts.waits;
    this.xa = new ServedBranches(() => this.#queues.branches());
    this.#outcomes = parts.outcomes;
    this.#catalog = parts.catalog;
    this.#ports = parts.ports;
    this.#sharded = parts.sharded;
    this.#unsharded = parts.unsharded;
    this.#grouped = parts.grouped;
    this.#scrubber = parts.scrubber;
    this.#subscribers = new TopicSubscribers({
      instance: parts.id,
      catalog: parts.catalog,
      topicsOf: (topic) => this.#queues.engineOf(topic).topics,
      ports: parts.ports,
    });
    this.#queues = new ServedQueues({
      instance: parts.id,
      catalog: parts.catalog,
      engines: {
        sharded: parts.sharded.engine,
        unsharded: parts.unsharded,
        'unsharded-grouped': parts.grouped,
      },
      branches: parts.sharded.branches,
      cache: parts.sharded.cache,
      followsCacheSize: parts.followsCacheSize,
      onCatalogRead: (queues) => this.#onCatalogRead(queues),
      onSessionClosed: (session) => {
        this.#sharded.queues.unbindSession(session);
        this.#sessions.delete(session);
      },
    });
    this.#onEnded = parts.onEnded;
    this.#onClosed = parts.onClosed;
    this.#services = parts.createServices(this);
    this.#queues.read();
    this.#catalogTimer = parts.ports.timers.every(catalogPollMs, () => this.#refreshCatalogInBackground());
  }

  /** False once the instance is to leave the cluster: it then only delivers the messages that it has. */
  set acceptsMessages(accepts: boolean) {
    this.#queues.acceptsMessages = accepts;
    this.#sharded.forwarding.acceptsMessages = accepts;
    this.#sharded.homes.shipped.acceptsMessages = accepts;
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

  /** Answers calls of one connection about tightly coupled transactions that have this instance as their home. */
  openHomeCaller(): HomeCaller {
    return this.#sharded.homes.openCaller();
  }

  /** From now on messages can come from the other instances and go to them, and branches have homes there. */
  connectInterconnect(interconnect: Interconnect & HomePeers): void {
    this.#interconnect = interconnect;
    this.#sharded.homes.peers = interconnect;
    this.#sharded.forwarding.connect(interconnect);
  }

  async disconnect(): Promise<void> {
    this.#interconnect = undefined;
    this.#sharded.homes.peers = undefined;
    await this.#sharded.forwarding.disconnect();
  }

  #refreshCatalogInBackground(): void {
    try {
      this.#queues.refresh();
    } catch {
      // The next check tries again, and a call that needs the catalog gets the error.
    }
  }

  #onCatalogRead(queues: readonly QueueRow[]): void {
    this.#refreshPeers();
    // What fails is tried again at the next check.
    this.#subscribers.applyAll(queues).catch(() => this.#queues.retryAtNextRefresh());
  }

  #refreshPeers(): void {
    const hosted = this.#catalog.hostedInstances().filter((instance) => instance !== this.id);
    if (hosted.join() === this.#otherHostedInstances.join()) return;
    this.#otherHostedInstances = hosted;
    if (this.#interconnect !== undefined) this.#sharded.forwarding.connect(this.#interconnect);
  }

  async createQueue(spec: QueueSpec): Promise<QueueInfo> {
    return this.#queues.create(spec);
  }

  async dropQueue(name: string): Promise<void> {
    await this.#queues.drop(name);
  }

  async startQueue(
    name: string,
    which: { enqueue?: boolean; dequeue?: boolean } = { enqueue: true, dequeue: true },
  ) {
    return this.#queues.setEnabled(name, which, true);
  }

  async stopQueue(
    name: string,
    which: { enqueue?: boolean; dequeue?: boolean } = { enqueue: true, dequeue: true },
  ) {
    return this.#queues.setEnabled(name, which, false);
  }

  queues(): QueueInfo[] {
    return this.#queues.infos();
  }

  queue(name: string): QueueInfo {
    return this.#queues.infoOf(name);
  }

  async subscribe(topic: string, spec: SubscriberSpec): Promise<SubscriberInfo> {
    return this.#subscribers.add(this.#findTopic(topic), spec);
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    await this.#subscribers.remove(this.#findTopic(topic), name);
  }

  subscribers(topic: string): SubscriberInfo[] {
    return this.#subscribers.list(this.#findTopic(topic));
  }

  /**
   * Calls the listener with the subscriber of messages of the topic that a retry limit has moved away, and how many they are.
   * Returns what ends that.
   */
  onMovedAway(topic: string, listener: (subscriber: string, messages: number) => void): () => void {
    const { queueId } = this.#findTopic(topic);
    const { moveListeners } = this.#sharded.retries;
    const onMoved: Parameters<typeof moveListeners.add>[0] = (from, deliveries) => {
      if (from.queueId !== queueId) return;
      const names = new Map(this.#catalog.subscribers.ofTopic(queueId).map(({ id, name }) => [id, name]));
      for (const { cursor, count } of deliveries) {
        const name = names.get(cursor.subscriber);
        if (name !== undefined) listener(name, count);
      }
    };
    moveListeners.add(onMoved);
    return () => moveListeners.delete(onMoved);
  }

  #findTopic(name: string): QueueRow {
    const { row } = this.#queues.findQueue(name);
    if (row.type === 'topic') return row;
    throw new QueueError('OPTIONS_INVALID', { message: `${name} is a queue: it has no subscribers` });
  }

  /** Resolves when the topics have the subscribers of the catalog: the instance must not serve them before. */
  async applyCatalogSubscribers(): Promise<void> {
    await this.#subscribers.applyAll(this.#queues.rows);
  }

  openSession(): InstanceSession {
    const sessionNumber = this.#nextSessionNumber();
    const session = new InstanceSession(this.id, sessionNumber, this.#queues, this.waits.openSession());
    this.#sessions.set(sessionNumber, session);
    return session;
  }

  openServiceSession(state: ServiceState): SessionOfService {
    const sessionNumber = this.#nextSessionNumber();
    const time = this.waits.openSession();
    const session = new SessionOfService(
      { instance: this.id, sessionNumber, context: this.#queues, time },
      state,
    );
    this.#sessions.set(sessionNumber, session);
    return session;
  }

  #nextSessionNumber(): number {
    this.#queues.assertServing();
    if (this.#closing !== undefined)
      throw new QueueError('INSTANCE_CLOSED', { details: { instance: this.id } });
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    }
    this.#lastSessionNumber += 1;
    return this.#lastSessionNumber;
  }

  /** Activates its services in the background: call it once clients can reach the instance. */
  startServices(): void {
    this.#services.start();
  }

  /** Resolves when its services are deactivated; calls are refused from now on. Never rejects. */
  stopServices(): Promise<void> {
    return this.#services.stop();
  }

  services(): ServiceInfo[] {
    return this.#services.infos();
  }

  async callService(name: string, call: string, argument?: Json): Promise<Json> {
    this.#queues.assertServing();
    return await this.#services.call(name, call, argument);
  }

  assertServing(): void {
    this.#queues.assertServing();
  }

  coordinator(participants: Readonly<Record<string, XaResource>>): Coordinator {
    this.#queues.assertServing();
    const { decisions, epoch } = this.#sharded;
    return new Coordinator({
      instance: this.id,
      epoch,
      decisions,
      participants: new Map(Object.entries(participants)),
      ports: this.#ports,
    });
  }

  /** The outcomes of remote sessions. From the first call on they include those of sessions on unsharded queues before a restart. */
  recoverOutcomes(): CommitOutcomes {
    this.#unsharded.recoverOutcomes();
    return this.#outcomes;
  }

  async browse(
    queue: string,
    {
      limit = 100,
      after,
      subscriber,
      correlationId,
      processed = false,
    }: Parameters<Instance['browse']>[1] = {},
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    const { row, engine } = this.#queues.findQueue(queue);
    if (!Number.isInteger(limit) || limit < 1 || limit > limits.browseMessagesMax) {
      throw new QueueError('OPTIONS_INVALID', { message: `limit must be 1 to ${limits.browseMessagesMax}` });
    }
    if (processed && row.retentionMs === 0)
      throw new QueueError('OPTIONS_INVALID', {
        message: `${queue} keeps no consumed messages: its retentionMs is 0`,
      });
    validateSubscriber(row, subscriber);
    if (correlationId !== undefined) validateText('correlationId', correlationId);
    const key = correlationId === undefined ? undefined : new CorrelationKey(correlationId);
    return engine.browser.browse(row, { limit, after, subscriber, key, processed });
  }

  stats(): InstanceStats {
    this.#queues.assertServing();
    const engines = [this.#sharded.engine, this.#unsharded, this.#grouped];
    const sumOf = (name: keyof EngineTotals) =>
      engines.reduce((sum, { statistics }) => sum + statistics.totals[name], 0);
    const { user, system } = process.threadCpuUsage();
    return {
      instance: this.id,
      epoch: this.epoch,
      enqueued: sumOf('enqueued'),
      consumed: sumOf('consumed'),
      commits: sumOf('commits'),
      groups: sumOf('groups'),
      syncs: sumOf('syncs'),
      cpu: { sessionUs: user + system, writerUs: this.#sharded.writer.cpuUs },
      counters: this.waits.counters(),
      logBytes: logBytesOf(instanceFilePath(this.dir, this.id)) + logBytesOf(unshardedPath(this.dir)),
      shards: this.#queues.rows.flatMap((row) => this.#shardStats(row)),
      scrub: this.#scrubber.stats,
    };
  }

  /** Of nonpersistent queues, the messages that ended with the opening before. */
  get lostMessages(): { queue: string; messages: number }[] {
    return this.#sharded.lostMessages.flatMap(({ queueId, messages }) => {
      const row = this.#queues.rows.find((each) => each.queueId === queueId);
      return row === undefined ? [] : [{ queue: row.name, messages }];
    });
  }

  queueStats(name: string): QueueStats {
    const { row, engine } = this.#queues.findQueue(name);
    return engine.statistics.queueStats(row);
  }

  /** Empty for a queue whose file cannot be read: its `QueueInfo` has the error. */
  #shardStats(row: QueueRow): ShardStats[] {
    try {
      return this.#queues.engineOf(row).statistics.shardStats(row);
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
    return this.#queues.endReason;
  }

  /** No committed message is here and none is on its way. With `acceptsMessages` false it stays so. */
  get isEmpty(): boolean {
    const { queues, delayed, groupCommit, forwarding, branches } = this.#sharded;
    const logs = [...queues].flatMap((queue) => queue.logs);
    const hasNone = logs.every((log) => log.backlog === 0) && delayed.total + branches.size === 0;
    return groupCommit.isIdle && forwarding.isQuiescent && hasNone;
  }

  unhealthyReason(writerSilentMsMax: number = limits.writerSilentMsDefault): QueueError | undefined {
    if (this.endReason !== undefined) return this.endReason;
    if (this.#sharded.writer.silentMs <= writerSilentMsMax) return undefined;
    return new QueueError('WRITER_SILENT', {
      message: `The writer of instance ${this.id} has work and has not answered for over ${writerSilentMsMax} ms`,
      details: { instance: this.id, writerSilentMsMax },
    });
  }

  async probe(): Promise<void> {
    if (this.endReason !== undefined) throw this.endReason;
    await this.#sharded.probe.run();
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
    if (this.endReason !== undefined) return;
    this.#queues.endReason = error;
    void this.#services.stop(); // never rejects
    this.#sharded.queues.rejectWaiters(error);
    this.#sharded.rowLockWaits.close(error);
    this.#sharded.homes.end(error);
    this.#unsharded.rejectWaiters(error);
    this.#grouped.rejectWaiters(error);
    this.#onEnded?.(error);
  }

  /** Whether storage failed. Whether commits in progress at that time are durable, only recovery can tell. */
  get failed(): boolean {
    const code = this.endReason?.code;
    return code === 'INSTANCE_FAILED' || code === 'INVARIANT_BROKEN';
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#catalogTimer.cancel();
    const closed = new QueueError('INSTANCE_CLOSED', { details: { instance: this.id } });
    const fenced = this.endReason?.code === 'INSTANCE_FENCED';
    try {
      this.#sharded.rowLockWaits.close(closed); // a session that waits would not close
      await this.#services.stop();
      await this.#scrubber.close();
      await Promise.allSettled([...this.#sessions.values()].map((session) => session.close()));
      this.#queues.endReason = closed;
      await this.#sharded.close();
      await this.#unsharded.close();
      await this.#grouped.close();
      if (!fenced) this.#catalog.subscribers.removeOfInstance(this.id); // else they belong to the process that took over
    } finally {
      this.#queues.endReason = closed;
      this.#catalog.close();
      this.#onClosed();
    }
  }
}
