/** A store behind the session API that is not this engine: NATS JetStream, by the package `@shardlab/jetstream`. */
import type { StoreCapabilities } from './capabilities.ts';
import type { RemoteInstance } from './instance.ts';

export interface NatsStoreOptions {
  user?: string;
  password?: string;
  token?: string;
  /** Content of a `.creds` file. */
  credentials?: string;
  /** Path of a `.creds` file, instead of its content. */
  credentialsFile?: string;
  /** Files in PEM; an empty object for TLS with the authorities of the system. */
  tls?: { caFile?: string; certFile?: string; keyFile?: string };
  /** How long connecting, and each call except a commit, is tried, milliseconds. Default 15,000. */
  callMs?: number;
  /**
   * The sync configuration of all servers: `always` if each has `sync_interval: always`. A client cannot query it. Default
   * `interval`: queues are then `relaxed`, and one that is to be `durable` is refused.
   */
  sync?: 'always' | 'interval';
  /**
   * `atomic` (default): a transaction that both consumes and enqueues is refused. `enqueue-first`: it enqueues, then
   * consumes; a failure in between delivers the consumed messages again.
   */
  transactions?: 'atomic' | 'enqueue-first';
  /** Servers that store a queue, for those created without saying so; default 1. */
  replicas?: 1 | 3 | 5;
  /**
   * For queues and subscribers that this store adds: how long the servers wait for a silent holder before they deliver a message
   * again; 3,000 to 600,000 ms, default 30,000.
   */
  ackWaitMs?: number;
  /** Messages that a dequeue may fetch beyond its `max`; 0 (the default) to 1,000. */
  prefetch?: number;
  /** How long the outcome of a commit is sought after a lost answer; 1,000 to 50,000 ms, default 20,000. */
  outcomeMs?: number;
}

export interface NatsOptions extends NatsStoreOptions {
  /** `nats://host:port`, or `tls://…`; several for the servers of a cluster. */
  nats: string | string[];
}

/** A store of several servers. Its sessions are of this process; the queues are shared by all that connect to the servers. */
export interface QueueStore
  extends Pick<
    RemoteInstance,
    | 'createQueue'
    | 'dropQueue'
    | 'startQueue'
    | 'stopQueue'
    | 'queues'
    | 'queue'
    | 'subscribe'
    | 'unsubscribe'
    | 'subscribers'
    | 'openSession'
    | 'browse'
    | 'probe'
    | 'close'
  > {
  readonly capabilities: StoreCapabilities;
  /** Messages that one transaction can enqueue. */
  readonly transactionMessagesMax: number;
}
