/**
 * The interface through which the server uses the engine, whether the only instance runs here or several run in their own
 * processes.
 */
import type {
  Cluster,
  ClusterEvent,
  ClusterInstance,
  ClusterProcess,
  Kill,
  StoreInfo,
} from '@shardlab/contract';
import {
  type Instance,
  type InstanceStats,
  localCapabilities,
  type NatsOptions,
  type ProcessExtensionSpec,
  QueueError,
  type QueueInfo,
  type QueueStats,
  type ServiceInfo,
  type ServiceSpec,
  type Session,
  type StoreCapabilities,
  type SubscriberInfo,
  type TracedMessage,
  type WaitStats,
} from '@shardlab/engine';

type Changes =
  | 'createQueue'
  | 'dropQueue'
  | 'startQueue'
  | 'stopQueue'
  | 'subscribe'
  | 'unsubscribe'
  | 'browse'
  | 'callService'
  | 'messageTrace';

/** Access to the queues: implemented by an instance in this process and by a client of a whole cluster. */
export interface QueueHost extends Pick<Instance, Changes> {
  queues(): QueueInfo[] | Promise<QueueInfo[]>;
  queue(name: string): QueueInfo | Promise<QueueInfo>;
  /** One entry per instance that responds. */
  queueStats(name: string): QueueStats | Promise<QueueStats[]>;
  subscribers(topic: string): SubscriberInfo[] | Promise<SubscriberInfo[]>;
  tracedMessages(queue: string, options?: { limit?: number }): TracedMessage[] | Promise<TracedMessage[]>;
  traceNext(queue: string, count?: number): void | Promise<void>;
  openSession(): Session;
  services(): ServiceInfo[] | Promise<ServiceInfo[]>;
}

export interface HostedMetrics {
  stats: InstanceStats;
  waits: WaitStats[];
}

/** The counts of one instance. Of a queue that is not sharded all instances count the same file. */
export interface InstanceQueues {
  instance: number;
  queues: readonly QueueInfo[];
}

/** The result of a probe: the error that keeps an instance from committing, or null. */
export interface ProbeResult {
  instance: number;
  failure: { code: string; message: string } | null;
}

/** Called once if the server must be restarted before it can serve the queues again. */
export type OnUnrecoverable = (error: QueueError) => void;

/** Options of every backend. */
export interface BackendOptions {
  /** Servers that have the queues. Null: the folder has them. */
  nats: NatsOptions | null;
  services: readonly ServiceSpec[];
  /** The extension that the processes of instances run. */
  extension: ProcessExtensionSpec;
  onUnrecoverable: OnUnrecoverable;
}

export type ProcessSignal = NonNullable<Kill['signal']>;

export type InstanceState = Omit<ClusterInstance, 'metrics' | 'unready'>;

export interface Backend {
  readonly placement: Cluster['placement'];
  readonly queues: QueueHost;
  /** The store of the queues, and its capabilities. */
  readonly store: {
    store: StoreInfo['store'];
    servers: string[];
    capabilities: StoreCapabilities;
  };
  /** Read from memory and files; no process is contacted. */
  topology(): InstanceState[];
  /** Metrics of all instances and processes that respond. */
  metrics(): Promise<{ processes: ClusterProcess[]; hosted: HostedMetrics[] }>;
  /** One entry for each instance that responds. */
  queuesByInstance(): Promise<InstanceQueues[]>;
  /** One entry for each instance. Commits a row on each; calls within a second share a commit. Never rejects. */
  probe(): Promise<ProbeResult[]>;
  /** How often the process of an instance was started again since the server started, by instance. */
  restarts(): ReadonlyMap<number, number>;
  events(): ClusterEvent[];
  /** `kill`, `stop` and `start` throw `INSTANCE_IN_SERVER` and what the engine's cluster throws. */
  kill(instance: number, signal: ProcessSignal): void;
  stop(instance: number): Promise<void>;
  start(instance: number): Promise<void>;
  /** Resolves with false if this backend cannot have that many instances, so that another one is needed. */
  resize(instances: number): Promise<boolean>;
  close(): Promise<void>;
}

/** The store of queues in a folder. */
export const localStore: Backend['store'] = { store: 'local', servers: [], capabilities: localCapabilities };

/** An error as a reason for people and programs. */
export function failureOf(error: unknown): NonNullable<ProbeResult['failure']> {
  if (error instanceof QueueError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: String(error) };
}
