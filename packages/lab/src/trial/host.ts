/** What the sessions of a worker work on: an instance in their own process, or one that a process of its own serves. */
import type { InstanceSample } from '@shardlab/contract';
import {
  connect,
  openInstance,
  type RemoteInstance,
  type SubscriberInfo,
  WaitRecorder,
} from '@shardlab/engine';
import type { Outlet } from './layout.ts';
import type { WorkerConfig } from './protocol.ts';

/** How old a list of subscribers may be: hundreds of them ask, and an instance lists all of them at once. */
const lookMs = 20;

export interface Host
  extends Pick<RemoteInstance, 'id' | 'openSession' | 'createQueue' | 'subscribe' | 'browse' | 'close'> {
  /** Of the instance and of the load on it; of a remote instance only those of the load. */
  readonly waits: WaitRecorder;
  /** Its shards as they are; none of a remote instance, whose host is asked by the coordinator. */
  shards(): InstanceSample['shards'];
  /** Messages that wait at an outlet. */
  waiting(outlet: Outlet): Promise<number>;
}

export function openHost(config: WorkerConfig): Promise<Host> {
  return config.sessions === 'embedded' ? embeddedHost(config) : remoteHost(config);
}

async function embeddedHost({ dir, instance: number, cacheBytesMax }: WorkerConfig): Promise<Host> {
  const cache = cacheBytesMax === null ? {} : { cacheBytesMax };
  const instance = await openInstance({ dir, instance: number, ...cache });
  const backlogs = new SubscriberBacklogs((queue) => instance.subscribers(queue));
  return {
    id: instance.id,
    waits: instance.waits,
    openSession: () => instance.openSession(),
    createQueue: (spec) => instance.createQueue(spec),
    subscribe: (topic, subscriber) => instance.subscribe(topic, subscriber),
    browse: (queue, options) => instance.browse(queue, options),
    close: () => instance.close(),
    shards: () =>
      instance.stats().shards.map(({ shard, backlog, partitions }) => ({ shard, backlog, partitions })),
    waiting: async ({ queue, subscriber }) =>
      subscriber === undefined ? instance.queue(queue).ready : backlogs.of(queue, subscriber),
  };
}

async function remoteHost({ dir, instance: number, feeders }: WorkerConfig): Promise<Host> {
  const instance = await connect({ dir, instance: number });
  const others = await Promise.all(feeders.map((feeder) => connect({ dir, instance: feeder })));
  // So that it has seen the queues which another instance made.
  await instance.queues();
  const backlogs = new SubscriberBacklogs((queue) => instance.subscribers(queue));
  return {
    id: instance.id,
    waits: new WaitRecorder(),
    openSession: () => instance.openSession(),
    createQueue: (spec) => instance.createQueue(spec),
    subscribe: (topic, subscriber) => instance.subscribe(topic, subscriber),
    browse: (queue, options) => instance.browse(queue, options),
    close: async () => {
      for (const each of [...others, instance]) await each.close();
    },
    shards: () => [],
    waiting: async ({ queue, subscriber }) => {
      if (subscriber !== undefined) return backlogs.of(queue, subscriber);
      // What is on its way is held where it came from until it is here: so those are asked first.
      const coming = await Promise.all(others.map((other) => other.queue(queue)));
      const { ready } = await instance.queue(queue);
      return coming.reduce((sum, info) => sum + info.ready + info.held, ready);
    },
  };
}

/** What each subscriber of a topic waits for, looked up for all of them together. */
class SubscriberBacklogs {
  readonly #list: (queue: string) => SubscriberInfo[] | Promise<SubscriberInfo[]>;
  #waiting: Map<string, number> = new Map();
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(list: (queue: string) => SubscriberInfo[] | Promise<SubscriberInfo[]>) {
    this.#list = list;
  }

  async of(queue: string, subscriber: string): Promise<number> {
    if (performance.now() - this.#lookedAtMs > lookMs) {
      const all = await this.#list(queue);
      this.#waiting = new Map(all.map(({ name, backlog, held }) => [name, backlog - held]));
      this.#lookedAtMs = performance.now();
    }
    return this.#waiting.get(subscriber) ?? 0;
  }
}
