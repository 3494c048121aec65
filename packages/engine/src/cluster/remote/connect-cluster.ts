/**
 * All instances of a cluster as one client sees them: its sessions are spread over them, its queues are the sum of their
 * shards. Which instances there are and which are served is read from the folder at every call, so it follows a cluster
 * that grows, shrinks and fails over.
 */
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { QueueStats } from '../../queue-stats.ts';
import { LeaseFile } from '../../storage/lease-file.ts';
import { Membership } from '../../storage/membership.ts';
import type { ClusterClient, QueueInfo, RemoteInstance, Session, SubscriberInfo } from '../../types.ts';
import { readTopology } from '../read-topology.ts';
import { type ClusterLinks, ClusterSession } from './cluster-session.ts';
import { linkTo } from './connect.ts';

export interface ConnectClusterOptions {
  /** Folder of the cluster. */
  dir: string;
  /** How long to look for an instance that is about to be served elsewhere, ms; default 3,000. */
  connectMs?: number;
}

/** Instances are connected to when they are first needed. Throws the storage errors if the folder cannot be read. */
export function connectCluster(options: ConnectClusterOptions): ClusterClient {
  return new SpreadClient(options);
}

class SpreadClient implements ClusterClient, ClusterLinks {
  readonly #dir: string;
  readonly #connectMs: number;
  readonly #membership: Membership;
  readonly #leases: LeaseFile;
  readonly #links = new Map<number, RemoteInstance>();
  readonly #sessions = new Set<ClusterSession>();
  #turn = 0;
  #closed = false;

  constructor({ dir, connectMs = limits.clusterConnectMs }: ConnectClusterOptions) {
    this.#dir = dir;
    this.#connectMs = connectMs;
    this.#membership = new Membership(dir, { busyMs: 0 });
    this.#leases = new LeaseFile(dir);
  }

  served(): number[] {
    this.#assertOpen();
    const instances = readTopology({ membership: this.#membership, leases: this.#leases })
      .filter(({ state }) => state !== 'down')
      .map(({ instance }) => instance);
    if (instances.length === 0) {
      throw new QueueError('INSTANCE_UNREACHABLE', { sentence: 'No instance is served' });
    }
    this.#turn = (this.#turn + 1) % instances.length;
    return [...instances.slice(this.#turn), ...instances.slice(0, this.#turn)];
  }

  staying(): number[] {
    this.#assertOpen();
    return this.#membership.members().flatMap(({ instance, leaving }) => (leaving ? [] : [instance]));
  }

  /** The lowest number, where there is none yet: instances that leave are those of the highest. */
  applicationHome(): number {
    const home = this.#membership.applicationHome() ?? this.staying()[0];
    if (home !== undefined) return home;
    throw new QueueError('INSTANCE_UNREACHABLE', { sentence: 'No instance takes messages' });
  }

  #assertOpen(): void {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { sentence: 'The connection was closed' });
  }

  link(instance: number): RemoteInstance {
    let link = this.#links.get(instance);
    if (link === undefined) {
      link = linkTo({ dir: this.#dir, instance, connectMs: this.#connectMs });
      this.#links.set(instance, link);
    }
    return link;
  }

  /** Asks one instance, the next one if it cannot be reached: what is asked for is in the catalog of all. */
  async #one<T>(ask: (remote: RemoteInstance) => Promise<T>): Promise<T> {
    let failure: unknown;
    for (const instance of this.served()) {
      try {
        return await ask(this.link(instance));
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** The answers of all instances that can be reached. */
  async #all<T>(ask: (remote: RemoteInstance) => Promise<T>): Promise<T[]> {
    const asked = this.served().map(async (instance) => [await ask(this.link(instance))]);
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

  /** Changes the catalog through one instance, and returns when all others have seen it. */
  async #change<T>(change: (remote: RemoteInstance) => Promise<T>): Promise<T> {
    const result = await this.#one(change);
    await this.#all((remote) => remote.queues());
    return result;
  }

  async createQueue(...args: Parameters<ClusterClient['createQueue']>): Promise<QueueInfo> {
    return this.#change((remote) => remote.createQueue(...args));
  }

  async dropQueue(name: string): Promise<void> {
    await this.#change((remote) => remote.dropQueue(name));
  }

  async startQueue(...args: Parameters<ClusterClient['startQueue']>): Promise<QueueInfo> {
    await this.#change((remote) => remote.startQueue(...args));
    return this.queue(args[0]);
  }

  async stopQueue(...args: Parameters<ClusterClient['stopQueue']>): Promise<QueueInfo> {
    await this.#change((remote) => remote.stopQueue(...args));
    return this.queue(args[0]);
  }

  async queues(): Promise<QueueInfo[]> {
    const lists = await this.#all((remote) => remote.queues());
    const byName = Map.groupBy(lists.flat(), (info) => info.name);
    return [...byName.values()].map(sumOf);
  }

  async queue(name: string): Promise<QueueInfo> {
    return sumOf(await this.#all((remote) => remote.queue(name)));
  }

  async queueStats(name: string): Promise<QueueStats[]> {
    const { kind } = await this.queue(name);
    if (kind === 'unsharded') return [await this.#one((remote) => remote.queueStats(name))];
    return this.#all((remote) => remote.queueStats(name));
  }

  async subscribe(...args: Parameters<ClusterClient['subscribe']>): Promise<SubscriberInfo> {
    return this.#one((remote) => remote.subscribe(...args));
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    await this.#change((remote) => remote.unsubscribe(topic, name));
  }

  async subscribers(topic: string): Promise<SubscriberInfo[]> {
    const lists = await this.#all((remote) => remote.subscribers(topic));
    const byName = Map.groupBy(lists.flat(), (info) => info.name);
    return [...byName.values()].map((infos) => ({
      ...infos[0]!,
      backlog: total(infos, 'backlog'),
      held: total(infos, 'held'),
      lagMs: Math.max(...infos.map(({ lagMs }) => lagMs)),
    }));
  }

  /** One instance after the other, by number; a page may end where an instance does. */
  async browse(
    queue: string,
    { after, ...options }: Parameters<ClusterClient['browse']>[1] = {},
  ): ReturnType<ClusterClient['browse']> {
    const instances = this.served().sort((a, b) => a - b);
    const mark = after === undefined ? undefined : readMark(after);
    const from = mark?.instance ?? instances[0]!;
    const within = mark === undefined || mark.after === '' ? {} : { after: mark.after };
    const { messages, next } = await this.link(from).browse(queue, { ...options, ...within });
    if (next !== null) return { messages, next: writeMark(from, next) };
    const following = instances.find((instance) => instance > from);
    return { messages, next: following === undefined ? null : writeMark(following, '') };
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
    await Promise.all([...this.#links.values()].map((link) => link.close()));
    this.#leases.close();
    this.#membership.close();
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof QueueError && error.code === 'INSTANCE_UNREACHABLE';
}

/** Counts of an unsharded queue are of its one file, whoever is asked; those of shards add up. */
function sumOf(infos: readonly QueueInfo[]): QueueInfo {
  const first = infos[0]!;
  if (first.kind === 'unsharded') return first;
  const sums = { ...first };
  for (const count of ['ready', 'held', 'delayed', 'enqueued', 'consumed', 'cacheBytes'] as const) {
    sums[count] = total(infos, count);
  }
  return sums;
}

function total<K extends string>(infos: readonly Record<K, number>[], key: K): number {
  return infos.reduce((sum, info) => sum + info[key], 0);
}

/** Where a page ended: `<instance>/<mark of the instance>`. */
function writeMark(instance: number, after: string): string {
  return `${instance}/${after}`;
}

function readMark(mark: string): { instance: number; after: string } {
  const [, instance, after] = /^(\d{1,2})\/(.*)$/.exec(mark) ?? [];
  if (instance !== undefined && after !== undefined) return { instance: Number(instance), after };
  throw new QueueError('OPTIONS_INVALID', { sentence: '`after` is not a page mark of this queue' });
}
