/** Queues on the servers of a NATS cluster: this process is one of their clients and has no instance of its own. */
import {
  connectCluster,
  type NatsOptions,
  QueueError,
  type QueueStore,
  type ServiceInfo,
} from '@shardlab/engine';
import {
  type Backend,
  failureOf,
  type HostedMetrics,
  type InstanceQueues,
  type InstanceState,
  type ProbeResult,
  type QueueHost,
} from './backend.ts';

export class StoreBackend implements Backend {
  readonly placement = 'store';
  readonly queues: QueueHost;
  readonly store: Backend['store'];
  readonly #store: QueueStore;

  /** Throws `STORE_NOT_INSTALLED`, and what the store throws. */
  static async open(options: NatsOptions): Promise<StoreBackend> {
    return new StoreBackend(await connectCluster(options), [options.nats].flat());
  }

  private constructor(store: QueueStore, servers: string[]) {
    this.#store = store;
    this.queues = toHost(store);
    this.store = { store: 'nats-jetstream', servers, capabilities: store.capabilities };
  }

  topology(): InstanceState[] {
    return [];
  }

  async queuesByInstance(): Promise<InstanceQueues[]> {
    return [{ instance: 0, queues: await this.#store.queues() }];
  }

  async metrics(): Promise<{ processes: []; hosted: HostedMetrics[] }> {
    return { processes: [], hosted: [] };
  }

  /** Probes all servers as one. */
  async probe(): Promise<ProbeResult[]> {
    try {
      await this.#store.probe();
      return [{ instance: 1, failure: null }];
    } catch (error) {
      return [{ instance: 1, failure: failureOf(error) }];
    }
  }

  restarts(): ReadonlyMap<number, number> {
    return new Map();
  }

  events() {
    return [];
  }

  kill(): void {
    throw noInstances();
  }

  async stop(): Promise<void> {
    throw noInstances();
  }

  async start(): Promise<void> {
    throw noInstances();
  }

  async resize(): Promise<boolean> {
    throw noInstances();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function toHost(store: QueueStore): QueueHost {
  return {
    createQueue: (spec) => store.createQueue(spec),
    dropQueue: (name, options) => store.dropQueue(name, options),
    startQueue: (name, which) => store.startQueue(name, which),
    stopQueue: (name, which) => store.stopQueue(name, which),
    subscribe: (topic, subscriber) => store.subscribe(topic, subscriber),
    unsubscribe: (topic, name) => store.unsubscribe(topic, name),
    browse: (queue, options) => store.browse(queue, options),
    queues: () => store.queues(),
    queue: (name) => store.queue(name),
    subscribers: (topic) => store.subscribers(topic),
    openSession: () => store.openSession(),
    async queueStats(name) {
      await store.queue(name);
      throw unsupported('A store on NATS servers has no statistics of partitions and caches');
    },
    messageTrace: async () => Promise.reject(noTraces()),
    tracedMessages: async () => Promise.reject(noTraces()),
    traceNext: async () => Promise.reject(noTraces()),
    async services(): Promise<ServiceInfo[]> {
      return [];
    },
    async callService(name) {
      throw new QueueError('SERVICE_NOT_FOUND', { details: { service: name } });
    },
  };
}

const noTraces = () => unsupported('A store on NATS servers records no events of its messages');

const noInstances = () =>
  unsupported('The queues are on NATS servers: there are no instances to change here');

/** The error for functions of the local engine that are not features of a store. */
export function unsupported(message: string): QueueError {
  return new QueueError('FEATURE_UNSUPPORTED', { message, details: { store: 'nats-jetstream' } });
}
