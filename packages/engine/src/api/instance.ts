/** An instance, hosted in this process or by another one, and a client of all instances of a cluster. */
import type { ClientSession, ClientSessionOptions } from './consumer.ts';
import type { TransactionCoordinator } from './coordinator.ts';
import type { QueueError } from './errors.ts';
import type { InstanceStats } from './instance-stats.ts';
import type { BrowsedMessage } from './message.ts';
import type { MessageTrace, TracedMessage } from './message-trace.ts';
import type { DropQueueOptions, QueueInfo, QueueSpec } from './queue.ts';
import type { QueueStats } from './queue-stats.ts';
import type { Json, ServiceInfo, ServiceSpec } from './service.ts';
import type { Session } from './session.ts';
import type { SubscriberInfo, SubscriberSpec } from './subscriber.ts';
import type { WaitLog, WaitStats } from './waits.ts';
import type { XaResource } from './xa.ts';

export interface InstanceOptions {
  /** Folder of the cluster: the catalog, a file per instance, the unsharded file. Created if it is missing. */
  dir: string;
  /** Number of this instance, 1 to 64; default 1. */
  instance?: number;
  /** Bound of the message cache, bytes. Default: the bound that a conversion set for the cluster, else 256 MiB. */
  cacheBytesMax?: number;
  /** Messages after which a partition is full, 1 to 32,768 (the default). Smaller ones are truncated sooner and more often. */
  partitionMessagesMax?: number;
  /**
   * Emulates a slower disk: a sync takes at least this long, 0 (the default: no emulation) to 1,000 ms. If several times are given,
   * successive syncs use them in turn.
   */
  emulatedSyncMs?: number | readonly number[];
  /**
   * Path of a file, created if it is missing: instances that name the same one share the emulated disk, which serves one sync after
   * the other. Default: each instance has a disk of its own.
   */
  emulatedSyncDevice?: string;
  /** Time added to each request to another instance, to emulate a slower interconnect, 0 (the default) to 1,000 ms. */
  emulatedInterconnectMs?: number;
  /** Bytes of a write-ahead log at which commits are refused with `LOG_FULL`; 64 MiB to 64 GiB, default 1 GiB. */
  logBytesMax?: number;
  /** How often changed metrics are written to the instance's file for its views; 10 to 3,600,000 ms, default 1,000. */
  sampleIntervalMs?: number;
  /**
   * One message in this many is traced (`messageTrace`): a power of two from 64 to 1,048,576, default 512; 0: only those that
   * `traceNext` asks for.
   */
  traceEvery?: number;
  /** Pause between two scrubs, which read all files in the background; 100 ms to 30 days, default 1 hour. */
  scrubIntervalMs?: number;
  /** How long a session may reserve the writer, from its first `query` to its commit; 1 to 10,000 ms, default 1,000. */
  writerReservationMsMax?: number;
  /** How long a commit waits for rows that a branch in doubt has locked; 1 to 60,000 ms, default 8,000. */
  sqlLockMsMax?: number;
  /** The singleton services of the cluster, at most 64, the same in every process. Those of this instance are activated in the background. */
  services?: readonly ServiceSpec[];
}

/** One instance, hosted in this process. Several processes may each host another instance of one folder. */
export interface Instance {
  readonly id: number;
  /** Wait events of this instance. A host may record its own, such as an emulated client round trip. */
  readonly waits: WaitLog;
  createQueue(spec: QueueSpec): Promise<QueueInfo>;
  /**
   * Drops the queue and its messages, and its exception queue. Messages there failed and are nowhere else: while there are any, it
   * throws `EXCEPTION_QUEUE_NOT_EMPTY` and changes nothing, unless `withExceptions` is set. An instance of a cluster does not know
   * what the others have, so that it throws this there too; a client of the whole cluster (`connectCluster`) asks all. Throws
   * `QUEUE_NOT_FOUND`, and `QUEUE_IN_USE` for an exception queue by itself.
   */
  dropQueue(name: string, options?: DropQueueOptions): Promise<void>;
  startQueue(name: string, which?: { enqueue?: boolean; dequeue?: boolean }): Promise<QueueInfo>;
  stopQueue(name: string, which?: { enqueue?: boolean; dequeue?: boolean }): Promise<QueueInfo>;
  queues(): QueueInfo[];
  /** Throws `QUEUE_NOT_FOUND`. */
  queue(name: string): QueueInfo;
  /**
   * Adds a subscriber to a topic; it gets every message committed after that. Resolves once every live instance has
   * committed the subscriber. Subscribing again under the same name changes nothing. Throws `SUBSCRIBERS_FULL`,
   * `SUBSCRIBER_EXISTS`, `SUBSCRIBER_PENDING`.
   */
  subscribe(topic: string, subscriber: SubscriberSpec): Promise<SubscriberInfo>;
  /** Removes a subscriber and its backlog. Throws `SUBSCRIBER_NOT_FOUND`. */
  unsubscribe(topic: string, name: string): Promise<void>;
  subscribers(topic: string): SubscriberInfo[];
  openSession(): Session;
  /** The instance as a resource manager of distributed transactions; sessions do the work of their branches (`Session.xa`). */
  readonly xa: XaResource;
  /**
   * A transaction manager over these participants, this instance among them or not, whose decisions are stored with this
   * instance. Call `resolve` first, since the opening before may have left branches in doubt.
   */
  coordinator(participants: Readonly<Record<string, XaResource>>): TransactionCoordinator;
  /**
   * Pages through the messages that are committed and not consumed (for a topic, by the named subscriber): oldest first in
   * each shard, then those that are not due yet. Nothing is consumed or held. `correlationId` selects exact matches;
   * without a `correlationIndex` that reads the whole backlog. `processed` shows the messages that were consumed instead, as
   * far back as the queue keeps them (`retentionMs`). For a nondurable subscriber it leaves out a few old messages, at most 64 of a
   * partition: those that were held or returned when all others of their partition were consumed. They are in its backlog, and
   * are delivered.
   *
   * A page ends at `limit` messages, or before the message with which it would have more than `bytesMax` bytes; the first is in it
   * whatever its size. With `state` it has only messages in that state, of at most `browseReadMax` messages that one call reads, so
   * it may be empty and have a `next`.
   */
  browse(
    queue: string,
    options?: {
      limit?: number;
      after?: string;
      subscriber?: string;
      correlationId?: string;
      processed?: boolean;
      bytesMax?: number;
      state?: 'ready' | 'held' | 'delayed';
    },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }>;
  /**
   * The recorded events of a sharded queue's message since the instance opened, and where it is now. Events are recorded for one
   * message in `traceEvery` and for those of `traceNext`; where a message is, and why it waits there, is known for every message.
   * Throws `QUEUE_NOT_FOUND`, `FEATURE_UNSUPPORTED` for an unsharded queue, `OPTIONS_INVALID` if the text is not an id.
   */
  messageTrace(queue: string, id: string): Promise<MessageTrace>;
  /** The messages of a queue that had the latest events in the trace, the last first; `limit` 1 to 100, default 20. */
  tracedMessages(queue: string, options?: { limit?: number }): TracedMessage[];
  /**
   * Traces the next `count` messages that any session enqueues to the queue on this instance, 1 (the default) to 100. Replaces
   * the rest of an earlier call's count.
   */
  traceNext(queue: string, count?: number): void;
  stats(): InstanceStats;
  /**
   * Resolves when everything that was committed before is in the tables of the instance's file, which follow the redo log. For programs
   * that read the file or copy it: all calls of an instance see what is committed in any case. Rejects with the storage errors.
   */
  checkpoint(): Promise<void>;
  /**
   * Commits a row of the engine, with a full sync. Calls within a second share one commit. Rejects with the error that keeps the
   * instance from committing: the storage errors, `STORAGE_FULL` also if the disk is about to be full, `PROBE_TIMEOUT` after 2 s. Also
   * with `STORAGE_REPLACED` if a file that the instance has open was deleted or replaced: commits succeed then, and are lost.
   */
  probe(): Promise<void>;
  /**
   * Why the instance cannot be relied on, without a commit: the error that ended it, or `WRITER_SILENT` if its writer
   * thread owes an answer for longer than `writerSilentMsMax`, by default 30,000 ms. Undefined while it is healthy.
   */
  unhealthyReason(writerSilentMsMax?: number): QueueError | undefined;
  /** The singleton services whose preferred instance this is. */
  services(): ServiceInfo[];
  /**
   * Calls a singleton service of this instance. Throws `SERVICE_NOT_FOUND`, `SERVICE_CALL_NOT_FOUND`, `SERVICE_CALL_INVALID`,
   * `SERVICE_CALL_FAILED` if the service threw; `SERVICE_NOT_ACTIVE`, `SERVICE_BUSY` if the call was not begun; and
   * `SERVICE_CALL_UNKNOWN` if the answer did not come within 30 s or was lost: such a call may have taken effect.
   */
  callService(name: string, call: string, argument?: Json): Promise<Json>;
  /** Statistics of a queue on this instance. Throws `QUEUE_NOT_FOUND`. */
  queueStats(name: string): QueueStats;
  /** Ends serving it and the queues that it shares, rolls back open transactions, finishes the commits in flight and closes the files. */
  close(): Promise<void>;
}

export interface InstanceProbe {
  instance: number;
  /** The error that keeps the instance from committing, or its process from answering; undefined if it can commit. */
  failure: QueueError | undefined;
}

/**
 * All instances of a cluster as one. A session enqueues to one instance for as long as that is available, and dequeues
 * from any. A transaction touches one instance, and so do the receipts of one call (`TX_SPANS_INSTANCES`).
 */
export interface ClusterClient
  extends Omit<RemoteInstance, 'id' | 'stats' | 'probe' | 'queueStats' | 'waits' | 'xa' | 'openSession'> {
  openSession(): Session;
  /** Probes every instance, wherever it is hosted. One entry for each, after 2.5 s at the latest; never rejects. */
  probe(): Promise<InstanceProbe[]>;
  /** What `queues` sums: the counts of each instance that answers. Of an unsharded queue all count the same file. */
  queuesByInstance(): Promise<{ instance: number; queues: QueueInfo[] }[]>;
  /** One entry for each instance that answers; a single one for an unsharded queue, whose file they share. */
  queueStats(name: string): Promise<QueueStats[]>;
}

/**
 * An instance that another process serves. Its sessions outlive the connection, which is re-established when it is lost, and they
 * query the outcome of a commit whose answer was lost. A call without an answer rejects with `INSTANCE_UNREACHABLE`.
 */
export interface RemoteInstance
  extends Pick<
    Instance,
    | 'id'
    | 'createQueue'
    | 'dropQueue'
    | 'startQueue'
    | 'stopQueue'
    | 'subscribe'
    | 'unsubscribe'
    | 'browse'
    | 'callService'
    | 'messageTrace'
    | 'xa'
  > {
  /** Throws `OPTIONS_INVALID`, `SESSIONS_FULL`, `INSTANCE_CLOSED`. */
  openSession(options?: ClientSessionOptions): ClientSession;
  queues(): Promise<QueueInfo[]>;
  /** Rejects with `QUEUE_NOT_FOUND`. */
  queue(name: string): Promise<QueueInfo>;
  subscribers(topic: string): Promise<SubscriberInfo[]>;
  tracedMessages(queue: string, options?: { limit?: number }): Promise<TracedMessage[]>;
  traceNext(queue: string, count?: number): Promise<void>;
  stats(): Promise<InstanceStats>;
  /** As `Instance.probe`. */
  probe(): Promise<void>;
  services(): Promise<ServiceInfo[]>;
  queueStats(name: string): Promise<QueueStats>;
  /** Wait events of the instance since it opened. */
  waits(): Promise<WaitStats[]>;
  /** Closes its sessions and the connection. The instance keeps running. */
  close(): Promise<void>;
}
