/** What the server needs of the engine, whether the only instance runs here or several run in their own processes. */
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

/** What keeps an instance from committing, or null. */
export interface ProbeResult {
  instance: number;
  failure: { code: string; message: string } | null;
}

/** Called once if the queues cannot be served any more unless the server is started anew. */
export type OnUnrecoverable = (error: QueueError) => void;

/** What every backend is opened with. */
export interface BackendOptions {
  /** Servers that have the queues. Null: the folder has them. */
  nats: NatsOptions | null;
  services: readonly ServiceSpec[];
  /** What the processes of instances run beside them. */
  extension: ProcessExtensionSpec;
  onUnrecoverable: OnUnrecoverable;
}

export type ProcessSignal = NonNullable<Kill['signal']>;

export type InstanceState = Omit<ClusterInstance, 'metrics' | 'unready'>;

export interface Backend {
  readonly placement: Cluster['placement'];
  readonly queues: QueueHost;
  /** Where the queues are, and what is promised of them. */
  readonly store: {
    store: StoreInfo['store'];
    servers: string[];
    capabilities: StoreCapabilities;
  };
  /** Read from memory and files; no process is contacted. */
  topology(): InstanceState[];
  /** Of all instances and processes that respond. */
  metrics(): Promise<{ processes: ClusterProcess[]; hosted: HostedMetrics[] }>;
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

/** Of queues in a folder. */
export const localStore: Backend['store'] = { store: 'local', servers: [], capabilities: localCapabilities };

/** An error as a reason for people and programs. */
export function failureOf(error: unknown): NonNullable<ProbeResult['failure']> {
  if (error instanceof QueueError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: String(error) };
}
