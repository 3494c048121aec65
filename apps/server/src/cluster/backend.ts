/** What the server needs of the engine, whether the only instance runs here or several run in their own processes. */
import type { ClusterEvent, ClusterInstance, ClusterProcess, Kill } from '@shardlab/contract';
import type {
  Instance,
  InstanceStats,
  QueueInfo,
  QueueStats,
  Session,
  SubscriberInfo,
  WaitStats,
} from '@shardlab/engine';

type Changes =
  | 'createQueue'
  | 'dropQueue'
  | 'startQueue'
  | 'stopQueue'
  | 'subscribe'
  | 'unsubscribe'
  | 'browse';

/** Access to the queues: implemented by an instance in this process and by a client of a whole cluster. */
export interface QueueHost extends Pick<Instance, Changes> {
  queues(): QueueInfo[] | Promise<QueueInfo[]>;
  queue(name: string): QueueInfo | Promise<QueueInfo>;
  /** One entry per instance that responds. */
  queueStats(name: string): QueueStats | Promise<QueueStats[]>;
  subscribers(topic: string): SubscriberInfo[] | Promise<SubscriberInfo[]>;
  openSession(): Session;
}

export interface HostedMetrics {
  stats: InstanceStats;
  waits: WaitStats[];
}

export type ProcessSignal = NonNullable<Kill['signal']>;

export type InstanceState = Omit<ClusterInstance, 'metrics'>;

export interface Backend {
  readonly placement: 'local' | 'processes';
  readonly queues: QueueHost;
  /** Read from memory and files; no process is contacted. */
  topology(): InstanceState[];
  /** Of all instances and processes that respond. */
  metrics(): Promise<{ processes: ClusterProcess[]; hosted: HostedMetrics[] }>;
  events(): ClusterEvent[];
  /** `kill`, `stop` and `start` throw `INSTANCE_INLINE` and what the engine's cluster throws. */
  kill(instance: number, signal: ProcessSignal): void;
  stop(instance: number): Promise<void>;
  start(instance: number): Promise<void>;
  /** Resolves with false if this backend cannot have that many instances, so that another one is needed. */
  resize(instances: number): Promise<boolean>;
  close(): Promise<void>;
}
