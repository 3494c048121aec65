/** What the server needs of the engine, whether the one instance lives here or several live in processes of their own. */
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

/** The queues. Both an instance of this process and a client of a whole cluster are one. */
export interface QueueHost extends Pick<Instance, Changes> {
  queues(): QueueInfo[] | Promise<QueueInfo[]>;
  queue(name: string): QueueInfo | Promise<QueueInfo>;
  /** Of each instance that answers. */
  queueStats(name: string): QueueStats | Promise<QueueStats[]>;
  subscribers(topic: string): SubscriberInfo[] | Promise<SubscriberInfo[]>;
  openSession(): Session;
}

export interface HostedFigures {
  stats: InstanceStats;
  waits: WaitStats[];
}

export type ProcessSignal = NonNullable<Kill['signal']>;

export type InstanceState = Omit<ClusterInstance, 'figures'>;

export interface Backend {
  readonly placement: 'inline' | 'processes';
  readonly queues: QueueHost;
  /** Read from memory and files: no process is asked. */
  topology(): InstanceState[];
  /** Of all instances and processes that answer. */
  figures(): Promise<{ processes: ClusterProcess[]; hosted: HostedFigures[] }>;
  events(): ClusterEvent[];
  /** Throws `INSTANCE_INLINE`, and what the engine's cluster throws; so do the next ones. */
  kill(instance: number, signal: ProcessSignal): void;
  stop(instance: number): Promise<void>;
  start(instance: number): Promise<void>;
  /** False if it cannot have so many instances: another backend can. */
  resize(instances: number): Promise<boolean>;
  close(): Promise<void>;
}
