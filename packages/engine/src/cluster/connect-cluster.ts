/**
 * All instances of a cluster as one client: its sessions use any of them, and a queue's counts are summed over them. The
 * members and their hosts are read from the folder at every call, so the client follows a cluster that grows, shrinks and
 * fails over.
 */

import { QueueError } from '../api/errors.ts';
import type { ClusterClient, InstanceProbe } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { MessageTrace, TracedMessage } from '../api/message-trace.ts';
import type { DropQueueOptions, QueueInfo } from '../api/queue.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { Json, ServiceInfo } from '../api/service.ts';
import type { Session } from '../api/session.ts';
import type { NatsOptions, QueueStore } from '../api/store.ts';
import type { SubscriberInfo } from '../api/subscriber.ts';
import { type ClusterConnections, ClusterSession } from '../client/cluster-session.ts';
import { connectLinkLazily, type LinkedRemoteInstance } from '../client/connect.ts';
import type { RemoteSession } from '../client/remote-session.ts';
import { assertFields, assertName, fieldsOf } from '../model/call-arguments.ts';
import { browseFields, dropQueueFields } from '../model/call-fields.ts';
import type { InstanceId } from '../model/ids.ts';
import { assertNoExceptions } from '../model/queue-row.ts';
import { validateRange } from '../model/session-calls.ts';
import { openNatsStore } from '../runtime/open-nats-store.ts';
import { LeaseFile } from '../storage/catalog/lease-file.ts';
import { Membership } from '../storage/catalog/membership.ts';
import { instanceSocketPath } from '../storage/socket-path.ts';
import { changeMembership } from './change-membership.ts';
import { mergeTracedMessages, mergeTraces } from './merge-traces.ts';
import { nodeClusterPorts } from './node-cluster-ports.ts';
import type { ClusterPorts } from './processes.ts';
import { readTopology } from './read-topology.ts';
import { ServiceCalls } from './service-calls.ts';

export interface ConnectClusterOptions {
  /** Folder of the cluster. */
  dir: string;
  /** How long to retry while an instance is failing over to another process, ms; default 3,000. */
  connectMs?: number;
}

const connectFields = fieldsOf<ConnectClusterOptions>('connectCluster', {
  dir: 'string',
  connectMs: 'number',
});

/**
 * For a folder: connects to each instance when it is first needed; throws the storage errors if the folder cannot be read. For
 * NATS servers: connects at once; throws `STORE_NOT_INSTALLED` and the errors of the store.
 */
export function connectCluster(options: ConnectClusterOptions): ClusterClient;
export function connectCluster(options: NatsOptions): Promise<QueueStore>;
export function connectCluster(
  options: ConnectClusterOptions | NatsOptions,
): ClusterClient | Promise<QueueStore> {
  if (typeof options === 'object' && options !== null && 'nats' in options) return openNatsStore(options);
  assertFields(options, connectFields);
  assertName('dir', options.dir);
  validateRange('connectMs', options.connectMs ?? limits.clusterConnectMs, 1, limits.connectMsMax);
  return new MultiInstanceClient(options, nodeClusterPorts);
}

class MultiInstanceClient implements ClusterClient, ClusterConnections {
  readonly ports: ClusterPorts;
  readonly #dir: string;
  readonly #connectMs: number;
  readonly #membership: Membership;
  readonly #leaseFile: LeaseFile;
  readonly #remotes = new Map<InstanceId, LinkedRemoteInstance>();
  readonly #sessions = new Set<ClusterSession>();
  readonly #serviceCalls: ServiceCalls;
  #rotation = 0;
  /** Never changes once it is known. */
  #keyInstance: InstanceId | undefined;
  #closed = false;

  constructor({ dir, connectMs = limits.clusterConnectMs }: ConnectClusterOptions, ports: ClusterPorts) {
    this.ports = ports;
    this.#dir = dir;
    this.#connectMs = connectMs;
    this.#membership = new Membership(dir, { busyMs: 0, processes: ports.processes });
    this.#leaseFile = new LeaseFile(dir);
    this.#serviceCalls = new ServiceCalls({
      servedInstances: () => this.#servedInstances(),
      members: () => this.#membership.members().map(({ instance }) => instance),
      remoteOf: (instance) => this.#remoteInstance(instance),
      ports,
    });
  }

  /** Those whose process is slow only if there are no others. */
  #servedInstances(): InstanceId[] {
    this.#assertOpen();
    const served = readTopology({
      membership: this.#membership,
      leaseFile: this.#leaseFile,
      ports: this.ports,
    }).filter(({ state }) => state !== 'down');
    const responsive = served.filter(({ host }) => host?.unresponsiveMs === null);
    return (responsive.length > 0 ? responsive : served).map(({ instance }) => instance);
  }

  servedInstances(): InstanceId[] {
    const instances = this.#servedInstances();
    if (instances.length === 0) {
      throw new QueueError('INSTANCE_UNREACHABLE', { message: 'No instance is served' });
    }
    this.#rotation = (this.#rotation + 1) % instances.length;
    return [...instances.slice(this.#rotation), ...instances.slice(0, this.#rotation)];
  }

  activeInstances(): InstanceId[] {
    this.#assertOpen();
    return this.#membership.members().flatMap(({ instance, leaving }) => (leaving ? [] : [instance]));
  }

  memberInstances(): InstanceId[] {
    this.#assertOpen();
    return this.#membership.members().map(({ instance }) => instance);
  }

  /** Before the first application table: the member with the lowest number, because `resize` removes the highest first. */
  sqlInstance(): InstanceId {
    const instance = this.#membership.sqlInstance() ?? this.activeInstances()[0];
    if (instance !== undefined) return instance;
    throw new QueueError('INSTANCE_UNREACHABLE', { message: 'No instance accepts messages' });
  }

  /** Chosen with the first key, as the SQL instance is, and recorded, so that it is the same for each client. */
  async keyInstance(): Promise<InstanceId> {
    this.#assertOpen();
    this.#keyInstance ??= this.#membership.keyInstance() ?? (await this.#chooseKeyInstance());
    if (this.#keyInstance !== undefined) return this.#keyInstance;
    throw new QueueError('INSTANCE_UNREACHABLE', { message: 'No instance accepts messages' });
  }

  async #chooseKeyInstance(): Promise<InstanceId | undefined> {
    const [lowest] = this.activeInstances();
    if (lowest === undefined) return undefined;
    return changeMembership(this.ports.timers, () => this.#membership.claimKeyInstance(lowest));
  }

  openSessionOn(instance: InstanceId): RemoteSession {
    return this.#remoteInstance(instance).openSession();
  }

  #assertOpen(): void {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { message: 'The connection was closed' });
  }

  #remoteInstance(instance: InstanceId): LinkedRemoteInstance {
    let remote = this.#remotes.get(instance);
    if (remote === undefined) {
      const path = instanceSocketPath(this.#dir, instance);
      remote = connectLinkLazily({ path, connectMs: this.#connectMs, ports: this.ports }, instance);
      this.#remotes.set(instance, remote);
    }
    return remote;
  }

  /** Asks instances in turn until one can be reached: every instance can answer from the shared catalog. */
  async #askAny<T>(ask: (remote: LinkedRemoteInstance) => Promise<T>): Promise<T> {
    let failure: unknown;
    for (const instance of this.servedInstances()) {
      try {
        return await ask(this.#remoteInstance(instance));
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Returns the answers of all instances that can be reached. */
  async #askAll<T>(ask: (remote: LinkedRemoteInstance) => Promise<T>): Promise<T[]> {
    const asked = this.servedInstances().map(async (instance) => [await ask(this.#remoteInstance(instance))]);
    const answers = await Promise.all(
      asked.map((answer) =>
        answer.catch((error: unknown) => {
          if (isUnreachable(error)) return [];
          throw error;
        }),
      ),
    );
    if (answers.flat().length === 0) throw new QueueError('INSTANCE_UNREACHABLE');
    return answers.flat();
  }

  /** Changes the catalog through one instance; resolves when all others have read the change. */
  async #changeCatalog<T>(change: (remote: LinkedRemoteInstance) => Promise<T>): Promise<T> {
    const result = await this.#askAny(change);
    await this.#askAll((remote) => remote.queues());
    return result;
  }

  async createQueue(...args: Parameters<ClusterClient['createQueue']>): Promise<QueueInfo> {
    return this.#changeCatalog((remote) => remote.createQueue(...args));
  }

  async dropQueue(name: string, options: DropQueueOptions = {}): Promise<void> {
    assertFields(options, dropQueueFields);
    if (options.withExceptions !== true) await this.#assertDroppable(name);
    await this.#changeCatalog((remote) => remote.dropQueue(name, { withExceptions: true }));
  }

  /** Throws `INSTANCE_UNREACHABLE` if an instance cannot say whether it has messages that failed. */
  async #assertDroppable(name: string): Promise<void> {
    const { exceptionQueue, kind } = await this.queue(name);
    if (exceptionQueue === null) return;
    const count = (remote: LinkedRemoteInstance) => remote.queue(exceptionQueue);
    const infos =
      kind === 'sharded'
        ? await Promise.all(this.memberInstances().map((each) => count(this.#remoteInstance(each))))
        : [await this.#askAny(count)];
    assertNoExceptions(name, exceptionQueue, sumQueueInfos(infos));
  }

  async startQueue(...args: Parameters<ClusterClient['startQueue']>): Promise<QueueInfo> {
    await this.#changeCatalog((remote) => remote.startQueue(...args));
    return this.queue(args[0]);
  }

  async stopQueue(...args: Parameters<ClusterClient['stopQueue']>): Promise<QueueInfo> {
    await this.#changeCatalog((remote) => remote.stopQueue(...args));
    return this.queue(args[0]);
  }

  async probe(): Promise<InstanceProbe[]> {
    const served = new Set(this.#servedInstances());
    return Promise.all(
      this.#membership.members().map(async ({ instance }) => {
        const failure = served.has(instance)
          ? await this.#probeInstance(instance)
          : new QueueError('INSTANCE_UNREACHABLE', { details: { instance } });
        return { instance, failure };
      }),
    );
  }

  /** A process that is stopped answers nothing: the deadline is kept here too. */
  async #probeInstance(instance: InstanceId): Promise<QueueError | undefined> {
    const timeout = Promise.withResolvers<QueueError>();
    const msMax = limits.probeMsMax + limits.probeAnswerMs;
    const timer = this.ports.timers.deadline(msMax, () =>
      timeout.resolve(new QueueError('PROBE_TIMEOUT', { details: { instance, msMax } })),
    );
    const answer = this.#remoteInstance(instance)
      .probe()
      .then(() => undefined, toQueueError);
    try {
      return await Promise.race([answer, timeout.promise]);
    } finally {
      timer.cancel();
    }
  }

  async services(): Promise<ServiceInfo[]> {
    const lists = await this.#askAll((remote) => remote.services());
    return lists.flat().sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  callService(name: string, call: string, argument?: Json): Promise<Json> {
    this.#assertOpen();
    assertName('name', name);
    assertName('call', call);
    return this.#serviceCalls.call(name, call, argument);
  }

  async queues(): Promise<QueueInfo[]> {
    const lists = await this.#askAll((remote) => remote.queues());
    const byName = Map.groupBy(lists.flat(), (info) => info.name);
    return [...byName.values()].map(sumQueueInfos);
  }

  queuesByInstance(): ReturnType<ClusterClient['queuesByInstance']> {
    return this.#askAll(async (remote) => ({ instance: remote.id, queues: await remote.queues() }));
  }

  async queue(name: string): Promise<QueueInfo> {
    return sumQueueInfos(await this.#askAll((remote) => remote.queue(name)));
  }

  async queueStats(name: string): Promise<QueueStats[]> {
    const parts = await this.#askAll((remote) => remote.queueStats(name));
    const [first] = parts;
    if (first!.kind === 'sharded') return parts;
    // All count the same file, but each measures its own deliveries.
    const sumOf = (bucket: number) =>
      parts.reduce((sum, { deliveryLatency }) => sum + deliveryLatency[bucket]!, 0);
    return [{ ...first!, deliveryLatency: first!.deliveryLatency.map((_, bucket) => sumOf(bucket)) }];
  }

  async messageTrace(queue: string, id: string): Promise<MessageTrace> {
    return mergeTraces(await this.#askAll((remote) => remote.messageTrace(queue, id)));
  }

  async tracedMessages(queue: string, options: { limit?: number } = {}): Promise<TracedMessage[]> {
    const lists = await this.#askAll((remote) => remote.tracedMessages(queue, options));
    return mergeTracedMessages(lists, options.limit);
  }

  async traceNext(queue: string, count?: number): Promise<void> {
    await this.#askAll((remote) => remote.traceNext(queue, count));
  }

  async subscribe(...args: Parameters<ClusterClient['subscribe']>): Promise<SubscriberInfo> {
    return this.#askAny((remote) => remote.subscribe(...args));
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    await this.#changeCatalog((remote) => remote.unsubscribe(topic, name));
  }

  async subscribers(topic: string): Promise<SubscriberInfo[]> {
    const lists = await this.#askAll((remote) => remote.subscribers(topic));
    const byName = Map.groupBy(lists.flat(), (info) => info.name);
    return [...byName.values()].map((infos) => ({
      ...infos[0]!,
      backlog: sumOfField(infos, 'backlog'),
      held: sumOfField(infos, 'held'),
      lagMs: Math.max(...infos.map(({ lagMs }) => lagMs)),
    }));
  }

  /** Browses the instances in the order of their numbers. A page ends at the latest with its instance. */
  async browse(
    queue: string,
    options: Parameters<ClusterClient['browse']>[1] = {},
  ): ReturnType<ClusterClient['browse']> {
    assertFields(options, browseFields);
    const { after, ...others } = options;
    const instances = this.servedInstances().sort((a, b) => a - b);
    const mark = after === undefined ? undefined : decodePageMark(after);
    const from = mark?.instance ?? instances[0]!;
    const within = mark === undefined || mark.after === '' ? {} : { after: mark.after };
    const { messages, next } = await this.#remoteInstance(from).browse(queue, { ...others, ...within });
    if (next !== null) return { messages, next: encodePageMark(from, next) };
    const following = instances.find((instance) => instance > from);
    return { messages, next: following === undefined ? null : encodePageMark(following, '') };
  }

  openSession(): Session {
    this.#assertOpen();
    if (this.#sessions.size >= limits.sessionsMax) {
      throw new QueueError('SESSIONS_FULL', { details: { sessionsMax: limits.sessionsMax } });
    }
    const session = new ClusterSession(this, (closed) => this.#sessions.delete(closed));
    this.#sessions.add(session);
    return session;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await Promise.all([...this.#remotes.values()].map((link) => link.close()));
    this.#leaseFile.close();
    this.#membership.close();
  }
}

function toQueueError(error: unknown): QueueError {
  return error instanceof QueueError ? error : new QueueError('INSTANCE_UNREACHABLE', { cause: error });
}

function isUnreachable(error: unknown): boolean {
  return error instanceof QueueError && error.code === 'INSTANCE_UNREACHABLE';
}

/** Sums the counts of a sharded queue. An unsharded queue has one file, so every instance reports its total. */
export function sumQueueInfos(infos: readonly QueueInfo[]): QueueInfo {
  const first = infos[0]!;
  if (first.kind !== 'sharded') return first;
  const sums = { ...first };
  for (const count of [
    'ready',
    'held',
    'delayed',
    'enqueued',
    'consumed',
    'forwardedIn',
    'forwardedOut',
    'refused',
    'lost',
    'cacheBytes',
  ] as const) {
    sums[count] = sumOfField(infos, count);
  }
  return sums;
}

function sumOfField<K extends string>(infos: readonly Record<K, number>[], key: K): number {
  return infos.reduce((sum, info) => sum + info[key], 0);
}

/** The end of a page: `<instance>/<the instance's own end of the page>`. */
function encodePageMark(instance: InstanceId, after: string): string {
  return `${instance}/${after}`;
}

function decodePageMark(mark: string): { instance: InstanceId; after: string } {
  const [, instance, after] = /^(\d{1,2})\/(.*)$/.exec(mark) ?? [];
  if (instance !== undefined && after !== undefined) return { instance: Number(instance), after };
  throw new QueueError('OPTIONS_INVALID', {
    message: '`after` must be the `next` of an earlier page of this queue',
  });
}
