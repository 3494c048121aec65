/** The instance that the sessions of a worker use: in their own process, or served by another process. */
import type { InstanceSample } from '@shardlab/contract';
import {
  type ClusterClient,
  connect,
  connectCluster,
  type HolderSamples,
  openInstance,
  type RemoteInstance,
  type Session,
  type SessionTime,
  type SessionTimes,
  type SubscriberInfo,
  type WaitEvent,
  type WaitLog,
  WaitRecorder,
  type WaitStats,
} from '@shardlab/engine';
import type { Clock } from '../../../meters/clock.ts';
import { clientRoundTrip, flowControl, serverCall } from '../../../meters/load-waits.ts';
import type { TraceReader } from '../../../meters/trace-sampler.ts';
import type { DequeueSource } from './layout.ts';
import type { WorkerConfig } from './protocol.ts';

/** Maximum age of a cached subscriber list: hundreds of sessions need it, and one call lists all subscribers. */
const refreshMs = 20;

export interface Host extends Pick<RemoteInstance, 'id' | 'createQueue' | 'subscribe' | 'browse' | 'close'> {
  openSession(): Session;
  /** Waits of the instance and of the load; for a remote instance only those of the load. */
  readonly waits: WaitLog;
  readonly traces: TraceReader;
  /** The wait event of a session's calls; undefined if the instance marks its waits itself. */
  readonly eventOfCalls: WaitEvent | undefined;
  /** The time book of a session of this host. */
  timeOf(session: Session): SessionTime;
  /** CPU time of the instance's writer so far, µs; 0 for a remote instance. */
  writerCpuUs(): number;
  /** The present shards; empty for a remote instance, whose process is queried by the coordinator. */
  shards(): InstanceSample['shards'];
  /** Synced group commits since the instance opened; 0 for a remote instance, as with its shards. */
  syncs(): number;
  /** Number of ready messages for one source of messages. */
  waitingCount(source: DequeueSource): Promise<number>;
}

/** `clock`: of the time books of remote sessions, and of an impostor's. */
export type OpenHost = (config: WorkerConfig, clock: Clock) => Promise<Host>;

export const openHost: OpenHost = async (config, clock) => {
  if (config.otherHost !== null) {
    const other = (await import(config.otherHost.module)) as { openHost: OpenHost };
    return other.openHost(config, clock);
  }
  return config.sessions === 'embedded' ? embeddedHost(config) : remoteHost(config, clock);
};

async function embeddedHost({ dir, instance: number, cacheBytesMax }: WorkerConfig): Promise<Host> {
  const cache = cacheBytesMax === null ? {} : { cacheBytesMax };
  const instance = await openInstance({ dir, instance: number, ...cache });
  const backlogs = new SubscriberBacklogs((queue) => instance.subscribers(queue));
  return {
    id: instance.id,
    waits: instance.waits,
    traces: instance,
    eventOfCalls: undefined,
    timeOf: (session) => session.time!,
    writerCpuUs: () => instance.stats().cpu.writerUs,
    openSession: () => instance.openSession(),
    createQueue: (spec) => instance.createQueue(spec),
    subscribe: (topic, subscriber) => instance.subscribe(topic, subscriber),
    browse: (queue, options) => instance.browse(queue, options),
    close: () => instance.close(),
    shards: () =>
      instance.stats().shards.map(({ shard, backlog, partitions }) => ({ shard, backlog, partitions })),
    syncs: () => instance.stats().syncs,
    waitingCount: async ({ queue, subscriber }) =>
      subscriber === undefined ? instance.queue(queue).ready : backlogs.waitingFor(queue, subscriber),
  };
}

async function remoteHost(
  { dir, instance: number, forwardsFrom }: WorkerConfig,
  clock: Clock,
): Promise<Host> {
  const instance = await connect({ dir, instance: number });
  const others = await Promise.all(forwardsFrom.map((feeder) => connect({ dir, instance: feeder })));
  // Makes this instance see the queues that another instance created.
  await instance.queues();
  const backlogs = new SubscriberBacklogs((queue) => instance.subscribers(queue));
  const waits = new WaitRecorder({ clock: { monotonicMs: clock } });
  // Its messages have events on the instances that they were forwarded from and to.
  const cluster: ClusterClient | undefined = forwardsFrom.length > 0 ? connectCluster({ dir }) : undefined;
  return {
    id: instance.id,
    waits: new LoadWaits(waits),
    traces: {
      messageTrace: (queue, id) => (cluster ?? instance).messageTrace(queue, id),
      tracedMessages: (queue, options) => instance.tracedMessages(queue, options),
    },
    eventOfCalls: serverCall,
    timeOf: () => waits.openSession(),
    writerCpuUs: () => 0,
    openSession: () => instance.openSession(),
    createQueue: (spec) => instance.createQueue(spec),
    subscribe: (topic, subscriber) => instance.subscribe(topic, subscriber),
    browse: (queue, options) => instance.browse(queue, options),
    close: async () => {
      await cluster?.close();
      for (const each of [...others, instance]) await each.close();
    },
    shards: () => [],
    syncs: () => 0,
    waitingCount: async ({ queue, subscriber }) => {
      if (subscriber !== undefined) return backlogs.waitingFor(queue, subscriber);
      // Messages in transit are held by their owner until they have arrived, so the owners are queried first.
      const coming = await Promise.all(others.map((other) => other.queue(queue)));
      const { ready } = await instance.queue(queue);
      return coming.reduce((sum, info) => sum + info.ready + info.held, ready);
    },
  };
}

/** The waits of remote sessions for their load only: those for the server are in the server's log, event by event. */
class LoadWaits implements WaitLog {
  readonly #recorder: WaitRecorder;

  constructor(recorder: WaitRecorder) {
    this.#recorder = recorder;
  }

  record(event: WaitEvent, ms: number): void {
    this.#recorder.record(event, ms);
  }

  snapshot(): WaitStats[] {
    return this.#recorder
      .snapshot()
      .filter(({ event }) => event === clientRoundTrip.name || event === flowControl.name);
  }

  sessionTimes(): SessionTimes {
    return this.#recorder.sessionTimes();
  }

  /** Their holders and waiters are in other processes. */
  sampleHolders(): () => HolderSamples[] {
    return () => [];
  }

  counters(): Record<string, number> {
    return this.#recorder.counters();
  }
}

/** The backlogs of all subscribers of a topic, read with one call. */
class SubscriberBacklogs {
  readonly #list: (queue: string) => SubscriberInfo[] | Promise<SubscriberInfo[]>;
  #waiting: Map<string, number> = new Map();
  #refreshedAtMs = Number.NEGATIVE_INFINITY;

  constructor(list: (queue: string) => SubscriberInfo[] | Promise<SubscriberInfo[]>) {
    this.#list = list;
  }

  async waitingFor(queue: string, subscriber: string): Promise<number> {
    if (performance.now() - this.#refreshedAtMs > refreshMs) {
      const all = await this.#list(queue);
      this.#waiting = new Map(all.map(({ name, backlog, held }) => [name, backlog - held]));
      this.#refreshedAtMs = performance.now();
    }
    return this.#waiting.get(subscriber) ?? 0;
  }
}
