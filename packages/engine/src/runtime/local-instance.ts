/** One instance in this process, over the kinds of queue: how it is connected to others, what it serves, and its end. */

import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import type { InstanceStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { MessageTrace, TracedMessage } from '../api/message-trace.ts';
import type { DropQueueOptions, QueueInfo, QueueSpec } from '../api/queue.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { Json, ServiceInfo, ServiceSession } from '../api/service.ts';
import type { SubscriberInfo, SubscriberSpec } from '../api/subscriber.ts';
import type { XaResource } from '../api/xa.ts';
import type { CommitOutcomes } from '../commit/commit-outcomes.ts';
import type { InstanceForwarding } from '../forwarding/instance-forwarding.ts';
import { assertFields, assertName, invalidArgument } from '../model/call-arguments.ts';
import { tracedMessagesFields } from '../model/call-fields.ts';
import type { Epoch, InstanceId, QueueId } from '../model/ids.ts';
import type { ChunkKey } from '../model/payload-chunk.ts';
import type { InstancePorts, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { ServiceHost } from '../singletons/service-host.ts';
import type { ServiceState } from '../singletons/service-instance.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import type { UnshardedEngine } from '../unsharded/unsharded-engine.ts';
import { Coordinator } from '../xa/coordinator/coordinator.ts';
import { ServedBranches } from '../xa/served-branches.ts';
import type { HomeCaller } from '../xa/tight/home-caller.ts';
import type { ShardedParts } from './assemble-sharded.ts';
import { followTopic, type TopicChange } from './follow-topic.ts';
import { InstanceEnd } from './instance-end.ts';
import { InstanceReport } from './instance-report.ts';
import type { InstanceSession } from './instance-session.ts';
import { InstanceTraces } from './instance-traces.ts';
import { OpenSessions } from './open-sessions.ts';
import { PeerInstances, type PeerInterconnect } from './peer-instances.ts';
import type { Scrubber } from './scrubber.ts';
import { ServedQueues } from './served-queues.ts';
import type { SessionOfService } from './service-session.ts';
import { TopicSubscribers } from './topic-subscribers.ts';
import { validateBrowse } from './validate-browse.ts';

/** How often an instance checks whether another process changed the catalog, milliseconds. A check costs microseconds. */
const catalogPollMs = 100;

interface LocalInstanceParts {
  id: InstanceId;
  dir: string;
  catalog: Catalog;
  waits: WaitRecorder;
  ports: Pick<InstancePorts, 'clock' | 'timers' | 'thread'>;
  outcomes: CommitOutcomes;
  sharded: ShardedParts;
  unsharded: UnshardedEngine;
  grouped: UnshardedEngine;
  scrubber: Scrubber;
  /** Its singleton services, which use it in turn. */
  createServices(instance: LocalInstance): ServiceHost;
  /** Added to each request to another instance. */
  emulatedInterconnectMs: number;
  /** The cache size is the catalog's, because the instance was opened without `cacheBytesMax`. */
  followsCacheSize: boolean;
  /** Called when the instance stops serving without having been closed. */
  onEnded?(error: QueueError): void;
  /** All files are closed: any process can host the instance. */
  onClosed(): void;
}

export class LocalInstance implements Instance {
  readonly id: InstanceId;
  /** Folder of its cluster. */
  readonly dir: string;
  /** Added to each request to another instance. */
  readonly emulatedInterconnectMs: number;
  readonly waits: WaitRecorder;
  readonly xa: ServedBranches;
  readonly #outcomes: CommitOutcomes;
  readonly #catalog: Catalog;
  readonly #ports: LocalInstanceParts['ports'];
  readonly #sharded: ShardedParts;
  readonly #unsharded: UnshardedEngine;
  readonly #grouped: UnshardedEngine;
  readonly #services: ServiceHost;
  readonly #subscribers: TopicSubscribers;
  readonly #queues: ServedQueues;
  readonly #traces: InstanceTraces;
  readonly #sessions: OpenSessions;
  readonly #report: InstanceReport;
  readonly #peers: PeerInstances;
  readonly #end: InstanceEnd;
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
    this.#peers = new PeerInstances({ instance: parts.id, catalog: parts.catalog, sharded: parts.sharded });
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
    const shared = { instance: parts.id, queues: this.#queues, sharded: parts.sharded, waits: parts.waits };
    this.#sessions = new OpenSessions(shared);
    this.#traces = new InstanceTraces({ ...shared, sessions: this.#sessions });
    this.#report = new InstanceReport({
      ...shared,
      dir: parts.dir,
      engines: [parts.sharded.engine, parts.unsharded, parts.grouped],
      scrubber: parts.scrubber,
      thread: parts.ports.thread,
    });
    this.#services = parts.createServices(this);
    this.#end = new InstanceEnd({
      ...parts,
      instance: parts.id,
      queues: this.#queues,
      sessions: this.#sessions,
      services: this.#services,
    });
    this.#queues.read();
    this.#catalogTimer = parts.ports.timers.every(catalogPollMs, () => this.#refreshCatalogInBackground());
  }

  /** False once the instance is to leave the cluster: it then only delivers the messages that it has. */
  get acceptsMessages(): boolean {
    return this.#queues.acceptsMessages;
  }

  set acceptsMessages(accepts: boolean) {
    this.#queues.acceptsMessages = accepts;
    this.#sharded.forwarding.acceptsMessages = accepts;
    this.#sharded.homeInstances.shipped.acceptsMessages = accepts;
  }

  /** Whether sessions of other processes are connected: they send more while a group is synced. */
  set hasClients(hasClients: boolean) {
    this.#sharded.writer.hasClients = hasClients;
  }

  get forwarding(): InstanceForwarding {
    return this.#sharded.forwarding;
  }

  /** Reads a chunk of a streamed payload, whose key is in its message. Throws `PAYLOAD_GONE`, `STORAGE_CORRUPT`. */
  readChunk(place: ChunkKey): Promise<Uint8Array> {
    return this.#sharded.payloads.readChunk(place);
  }

  /** The other instances of the cluster that a process hosts. */
  get otherHostedInstances(): readonly InstanceId[] {
    return this.#peers.hosted;
  }

  /** Answers calls of one connection about tightly coupled transactions that have this instance as their home. */
  openHomeCaller(): HomeCaller {
    return this.#sharded.homeInstances.openCaller();
  }

  /** From now on messages and calls about branches can be exchanged with the other instances. */
  connectInterconnect(interconnect: PeerInterconnect): void {
    this.#peers.connect(interconnect);
  }

  /** Starts nothing more with other instances, and gives what is under way a bounded time to end. */
  async disconnect(): Promise<void> {
    await this.#peers.disconnect();
  }

  #refreshCatalogInBackground(): void {
    try {
      this.#queues.refresh();
    } catch {
      // The next check tries again, and a call that needs the catalog gets the error.
    }
  }

  #onCatalogRead(queues: readonly QueueRow[]): void {
    this.#peers.refresh();
    // A failure is retried at the next check.
    this.#subscribers.applyAll(queues).catch(() => this.#queues.retryAtNextRefresh());
  }

  async createQueue(spec: QueueSpec): Promise<QueueInfo> {
    return this.#queues.create(spec);
  }

  /** Created if it is missing; undefined if the queue is gone. Throws what the catalog throws. */
  exceptionQueueOf(queue: QueueRow): QueueRow | undefined {
    return this.#queues.exceptionQueueOf(queue);
  }

  async dropQueue(name: string, options: DropQueueOptions = {}): Promise<void> {
    await this.#queues.drop(name, options);
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

  /** Undefined if this instance does not know it, or if it was dropped. */
  findQueueById(queueId: QueueId): QueueRow | undefined {
    return this.#queues.findById(queueId);
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

  /** Calls the listener when messages of the topic become ready, or are withheld, other than by a session's call. Returns what ends that. */
  followTopic(topic: string, listener: (change: TopicChange) => void): () => void {
    const row = this.#findTopic(topic);
    const engines = { sharded: undefined, unsharded: this.#unsharded, 'unsharded-grouped': this.#grouped };
    const parts = { catalog: this.#catalog, sharded: this.#sharded, unsharded: engines[row.kind] };
    return followTopic(row, parts, listener);
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
    return this.#sessions.open();
  }

  openServiceSession(state: ServiceState, open: Set<ServiceSession>): SessionOfService {
    return this.#sessions.openForService(state, open);
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
    assertName('name', name);
    assertName('call', call);
    this.#queues.assertServing();
    return await this.#services.call(name, call, argument);
  }

  assertServing(): void {
    this.#queues.assertServing();
  }

  coordinator(participants: Readonly<Record<string, XaResource>>): Coordinator {
    assertParticipants(participants);
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
    options: Parameters<Instance['browse']>[1] = {},
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
    const { row, engine } = this.#queues.findQueue(queue);
    return engine.browser.browse(row, validateBrowse(row, options));
  }

  async messageTrace(queue: string, id: string): Promise<MessageTrace> {
    return this.#traces.find(queue, id);
  }

  tracedMessages(queue: string, options: { limit?: number } = {}): TracedMessage[] {
    assertFields(options, tracedMessagesFields);
    return this.#traces.latest(queue, options.limit ?? 20);
  }

  traceNext(queue: string, count = 1): void {
    this.#traces.traceNext(queue, count);
  }

  stats(): InstanceStats {
    return this.#report.stats();
  }

  queueStats(name: string): QueueStats {
    return this.#report.queueStats(name);
  }

  /** Messages of nonpersistent queues that were lost with the previous opening. */
  get lostMessages(): { queue: string; messages: number }[] {
    return this.#report.lostMessages();
  }

  /** The epoch of this opening; stored in the instance's file, and raised by each opening. */
  get epoch(): Epoch {
    return this.#sharded.epoch;
  }

  /** Why the instance has stopped serving. */
  get endReason(): QueueError | undefined {
    return this.#queues.endReason;
  }

  /** Whether the instance has no committed message and none is in flight to it. With `acceptsMessages` false it stays empty. */
  get isEmpty(): boolean {
    return this.#report.isEmpty();
  }

  unhealthyReason(writerSilentMsMax: number = limits.writerSilentMsDefault): QueueError | undefined {
    return this.#report.unhealthyReason(writerSilentMsMax);
  }

  /** The error of a writer that has owed an answer for longer than this, also of one that is closing the file. */
  writerSilence(writerSilentMsMax: number): QueueError | undefined {
    return this.#report.writerSilence(writerSilentMsMax);
  }

  async checkpoint(): Promise<void> {
    if (this.endReason !== undefined) throw this.endReason;
    await this.#sharded.checkpoint();
  }

  async probe(): Promise<void> {
    if (this.endReason !== undefined) throw this.endReason;
    await this.#sharded.probe.run();
  }

  /** The lease is held again after it had lapsed: serves calls that waited in the meantime. */
  onLeaseRegained(): void {
    this.#sharded.queues.serveAllWaiters();
  }

  /** Storage failed: nothing more is served until the instance is opened again, which recovers. */
  fail(error: QueueError): void {
    this.#end.fail(error);
  }

  /** Another process hosts the instance. Commits in progress still go to the writer: the epoch in the file refuses them. */
  fence(error: QueueError): void {
    this.#end.end(error);
  }

  /** Whether storage failed. Only recovery can determine whether commits in progress at that time are durable. */
  get failed(): boolean {
    return this.#end.failed;
  }

  /** What serves the instance, or is kept alive by it, is closed with it. Returns what withdraws that. */
  closeBefore(close: () => Promise<void>): () => void {
    return this.#end.closeBefore(close);
  }

  close(): Promise<void> {
    this.#catalogTimer.cancel();
    return this.#end.close();
  }
}

/** Throws `OPTIONS_INVALID`. */
function assertParticipants(participants: Readonly<Record<string, XaResource>>): void {
  if (typeof participants !== 'object' || participants === null)
    throw invalidArgument('participants', 'an object of XA resources by name', participants);
  for (const [name, participant] of Object.entries(participants)) {
    if (typeof participant?.prepare !== 'function')
      throw invalidArgument(`participants.${name}`, 'the `xa` of an instance', participant);
  }
}
