/** The engine's public shapes. Times are epoch milliseconds (`AtMs`) or durations (`Ms`); sizes are bytes. */
import type { Readable } from 'node:stream';
import type { ConversionStage, ConversionStep } from './core/conversion.ts';
import type { QueueErrorCode } from './core/errors.ts';
import type { WaitRecorder, WaitStats } from './core/waits.ts';
import type { QueueStats } from './queue-stats.ts';

export type QueueKind = 'sharded' | 'unsharded';

/** What a commit is good for: see `docs/data-layout.md`. A group commit syncs at the strictest of its members. */
export type Durability = 'durable' | 'relaxed' | 'memory';

/** queue: one consumer a message; topic: each subscriber gets it. */
export type QueueType = 'queue' | 'topic';

export interface QueueSpec {
  name: string;
  /** Default `sharded`. */
  kind?: QueueKind;
  /** Default `queue`; topics are sharded. */
  type?: QueueType;
  /** Shards on each instance, 1 to 16, default 1. Ignored by an unsharded queue, which has none. */
  shards?: number;
  /** Default `durable`. */
  durability?: Durability;
  /** Default false: messages have priorities, each a lane of its own in a shard; a more urgent one overtakes. */
  priorities?: boolean;
  /**
   * Hand-outs of a message before it moves to the exception queue, 1 to 1,000; default: no limit. With a limit each
   * hand-out is written down first, so that a message that kills its consumer stops doing so. The exception queue is
   * made with the queue and named after it: `<name>.exceptions`.
   */
  attemptsMax?: number;
  /** Pause before a message that came back is handed out again, doubled each time; default 0, at most an hour. */
  retryDelayMs?: number;
  /**
   * Default true for a persistent sharded queue, the only kind that can: where no local consumer is, messages move to
   * instances of the cluster where consumers wait. Without it, or without another instance that is served, a dequeue on
   * an instance whose own shards are empty ends without messages (what ORA-25228 tells in Oracle).
   */
  forwarding?: boolean;
  /**
   * Room in the message cache of each instance that uses the queue, kept for its messages whatever others do; default 0.
   * What is kept for all queues together must fit the cache.
   */
  cacheBytesMin?: number;
  /**
   * How much of the message cache its messages may fill; default: all that is free. A nonpersistent queue takes no more
   * then (`BACKLOG_FULL`); of a persistent one, messages beyond it are read back from their partitions.
   */
  cacheBytesMax?: number;
  /**
   * Default false. True: each of its partitions, and of its exception queue's, has a local index on correlation ids, so that
   * a `browse` for one reads four bytes a message instead of the messages. Persistent sharded queues only.
   */
  correlationIndex?: boolean;
}

export interface QueueInfo {
  name: string;
  kind: QueueKind;
  type: QueueType;
  shards: number;
  durability: Durability;
  priorities: boolean;
  attemptsMax: number | null;
  retryDelayMs: number;
  forwarding: boolean;
  cacheBytesMin: number;
  /** Null: as much as is free. */
  cacheBytesMax: number | null;
  correlationIndex: boolean;
  /** What its messages have in the message cache, on this instance. */
  cacheBytes: number;
  /** Name of the queue that gets what was handed out too often; null without a limit. */
  exceptionQueue: string | null;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
  /**
   * Messages committed, not consumed and not held. On this instance for a sharded queue, of the whole file for an
   * unsharded one. Of a topic, what its slowest subscriber has not consumed.
   */
  ready: number;
  held: number;
  /** Not due yet, or paused after they came back. */
  delayed: number;
  /** Messages committed and consumed since the queue was made. */
  enqueued: number;
  consumed: number;
  /**
   * Messages that came from other instances, and that went to them, since the queue was made; one that comes back is
   * counted again. At all times enqueued + movedIn = ready + held + delayed + consumed + movedOut.
   */
  movedIn: number;
  movedOut: number;
  /** In a list: why its counts are not known, and 0. Calls on the queue throw the same. */
  fault?: { code: QueueErrorCode; message: string };
}

export interface NewMessage {
  payload: Uint8Array | string;
  correlationId?: string;
  /** Messages of one key go to one shard. */
  groupKey?: string;
  properties?: Record<string, string>;
  /** 0, the default, to 9, the most urgent; only for a queue with `priorities`. */
  priority?: number;
  /** It can be dequeued after so long, at most 400 days. Persistent sharded queues only. */
  delayMs?: number;
  /** Of a topic: the subscribers that get it, each a live one (`SUBSCRIBER_NOT_FOUND`). Without, all get it. */
  recipients?: string[];
}

/** A message whose payload is not in memory: it is taken in chunks, as fast as they are written. */
export interface StreamedMessage extends Omit<NewMessage, 'payload'> {
  /** A `Readable`, or anything else that gives bytes. Up to 1 GiB. */
  payload: AsyncIterable<Uint8Array>;
  /** How long the payload is, if that is known: another length is refused. */
  bytes?: number | undefined;
  /** Aborts the upload. */
  signal?: AbortSignal | undefined;
}

export interface Message {
  /** Unique within its queue, for good. */
  id: string;
  /** Throws `PAYLOAD_STREAMED` if `streamed`: it may be larger than memory. Of a browsed message it is empty then. */
  payload: Buffer;
  payloadBytes: number;
  /** The payload lies in chunks: read it with `payloadStream`. */
  streamed: boolean;
  /**
   * The payload, whichever way it lies, with at most two chunks of it in memory. It can be read until the message is
   * consumed: read first, then commit. Fails with `PAYLOAD_GONE` after that, and with `STORAGE_CORRUPT` if it is not what
   * was enqueued, before its end.
   */
  payloadStream(): Readable;
  correlationId?: string | undefined;
  groupKey?: string | undefined;
  properties?: Record<string, string> | undefined;
  recipients?: string[] | undefined;
  priority?: number | undefined;
  enqueuedAtMs: number;
  /** Which hand-out this is, from 1. It goes on after a restart, if the hand-outs before had come back or are limited. */
  deliveryCount: number;
  /** Names this hand-out of the message: what `acknowledge`, `release` and `extend` take. */
  receipt: string;
}

export interface BrowsedMessage extends Omit<Message, 'receipt'> {
  /** `delayed`: it is not due yet, or came back and waits for its retry delay. */
  state: 'ready' | 'held' | 'delayed';
  /** When a delay or a timed hold ends by itself, epoch ms; a hold of a transaction does not. */
  untilMs?: number;
}

export interface DequeueOptions {
  /** At most so many messages, 1 to 10,000; default 1. Whatever is ready is returned at once, up to this. */
  max?: number;
  /** How long to wait for the first message; 0, the default, does not wait. */
  waitMs?: number;
  /** Whose messages: needed for a topic, refused for a queue. */
  subscriber?: string;
  /** Aborts the wait: the call then returns no messages. */
  signal?: AbortSignal;
}

export interface ReceiveOptions extends DequeueOptions {
  /** The messages return to the queue after this time unless acknowledged; default 30,000. */
  holdMs?: number;
  /** With a client of a whole cluster, a receipt: only from the instance that it is of, to be finished together with it. */
  beside?: string;
}

/** An INTEGER is a number where that is exact and a bigint beyond 2^53, a REAL is a number, a BLOB is bytes. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** By place, or by name without its sign (`:name`, `@name`, `$name`). A whole number is bound as an INTEGER. */
export type SqlParameters = readonly SqlValue[] | Readonly<Record<string, SqlValue>>;

/** What one statement came to. */
export interface SqlResult {
  /** Of a query, or a RETURNING clause; of two columns of one name the later one. */
  rows: Record<string, SqlValue>[];
  /** Rows that it inserted, updated or deleted itself. */
  changes: number;
  /** Of the last row that an INSERT added; null if it added none. */
  lastInsertRowid: number | bigint | null;
}

export interface CommitResult {
  /** Ids of the messages that the transaction enqueued, in the order of its enqueue calls. */
  ids: string[];
  /**
   * What its statements came to, in the order of the `execute` calls. Throws `SQL_RESULTS_LOST` if the commit is done and
   * its answer was lost with the connection.
   */
  readonly results: SqlResult[];
}

/**
 * A client's ordered context: at most one transaction at a time, begun by its first operation. Work of the session on
 * one queue keeps its order. Calls of one session are made one after another, not concurrently (`SESSION_BUSY`).
 */
export interface Session {
  readonly id: string;
  /**
   * Stages a message for the commit. Throws what can be seen in the message (`PAYLOAD_TOO_LARGE`, `MESSAGE_INVALID`). What
   * the instance has to say (`QUEUE_NOT_FOUND`, `ENQUEUE_STOPPED`, `TX_SPANS_FILES`, …) comes from here or, at the latest,
   * from the commit, which then changes nothing.
   */
  enqueue(queue: string, message: NewMessage): void;
  /**
   * Takes the payload in, in chunks and with bounded memory, and stages its message for the commit; until then nobody sees
   * anything of it. What fits one chunk (256 KiB) is staged as by `enqueue`. For persistent sharded queues
   * (`STREAM_UNSUPPORTED`). A payload that breaks off (`PAYLOAD_INCOMPLETE`), is of another length than it said
   * (`PAYLOAD_LENGTH_WRONG`) or too large (`PAYLOAD_TOO_LARGE`) leaves nothing behind, and the transaction as it was; so
   * does a connection that is lost meanwhile (`INSTANCE_UNREACHABLE`), unless the transaction had something at the instance
   * already: then its next call says `TX_NOT_COMMITTED`.
   */
  enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }>;
  /** Hands out messages; they are consumed by this session's commit and return to the queue by its rollback or close. */
  dequeue(queue: string, options?: DequeueOptions): Promise<Message[]>;
  /** Hands out messages under a timed hold, outside the transaction: finish them by receipt, from any session. */
  receive(queue: string, options?: ReceiveOptions): Promise<Message[]>;
  /**
   * Stages the consumption of received messages for the commit. Until then their hold runs on; a receipt that is stale by
   * then, or named twice, rejects the commit with `RECEIPT_STALE`, and nothing of the transaction is done.
   */
  acknowledge(queue: string, receipts: string[]): void;
  /**
   * Stages one statement of the application's own SQL: rows and messages commit together or not at all. The statements of
   * a transaction run one after the other when it commits, which answers with their results; if one fails, the commit
   * rejects (`SQL_INVALID`, `SQL_REFUSED`, `SQL_FAILED`, `SQL_TOO_LARGE`, `SQL_TOO_LONG`; `details.statement` is its index)
   * and nothing of the transaction is done. The application's tables lie in the file of one instance, which the first
   * statement makes their home (`SQL_ELSEWHERE` on others); the engine's own cannot be reached. What may be said:
   * `docs/decisions/application-sql.md`.
   */
  execute(sql: string, parameters?: SqlParameters): void;
  /**
   * Runs one statement of the application's own SQL in the transaction and answers it at once, so that what follows can
   * depend on it: other statements, messages to enqueue. All of it commits together or not at all. A statement that fails
   * (`SQL_INVALID`, `SQL_REFUSED`, `SQL_FAILED`, `SQL_TOO_LARGE`, `SQL_TOO_LONG`) is undone by itself, and the transaction
   * goes on.
   *
   * The first query takes the instance's writer: until the commit, or the rollback, every other commit of the instance
   * waits (wait event `writer hold`). It holds it for `sqlHoldMsMax`; past that its statements are undone, and query and
   * commit reject with `SQL_HOLD_EXPIRED`. Nothing that may wait for the writer is called meanwhile (`SQL_HOLDS_WRITER`):
   * dequeue before the first query. Of sessions in the process of their instance only (`QUERY_UNSUPPORTED`); elsewhere, and
   * wherever no statement depends on another's answer, `execute` holds nobody up. What may be said, and where: as there.
   */
  query(sql: string, parameters?: SqlParameters): Promise<SqlResult>;
  /** Returns received messages to the queue; resolves when they are ready there. A stale receipt rejects, and nothing of the call is released. */
  release(queue: string, receipts: string[]): Promise<void>;
  /** The message that was received with this receipt, by whichever session; `RECEIPT_STALE` if its hold has ended. */
  lookUp(queue: string, receipt: string): Promise<Message>;
  /** Restarts the hold of received messages. A stale receipt rejects, and nothing of the call is extended. */
  extend(queue: string, receipts: string[], holdMs: number): Promise<void>;
  /** Resolves once the transaction is durable as its queue promises; an empty one resolves at once. */
  commit(): Promise<CommitResult>;
  rollback(): Promise<void>;
  /** Rolls back and ends the session. */
  close(): Promise<void>;
}

export interface SubscriberSpec {
  /** 1 to 128 characters. */
  name: string;
  /**
   * Default true: misses nothing while it is offline. A nondurable one lives as long as the instance that made it, and
   * what it has not consumed goes with it.
   */
  durable?: boolean;
}

/** One subscriber of a topic, as this instance sees it. */
export interface SubscriberInfo {
  name: string;
  durable: boolean;
  /** Messages committed and not consumed by it, held ones included; those for others count until they are passed over. */
  backlog: number;
  held: number;
  /** Age of its oldest message that waits in the cache, milliseconds; 0 if none waits. */
  lagMs: number;
}

export interface PartitionStats {
  partition: number;
  /** `damaged`: its messages cannot be read, and the shard stops in front of them. */
  state: 'filling' | 'full' | 'drained' | 'damaged';
  /** Share of its room in use, 0 to 1. */
  fill: number;
  /** Share of its messages that are terminal, 0 to 1. */
  drained: number;
}

export interface ShardStats {
  shard: number;
  queue: string;
  /** Messages committed and not consumed. */
  backlog: number;
  /** Bytes of its messages in the message cache. */
  cacheBytes: number;
  partitions: PartitionStats[];
}

export interface InstanceStats {
  instance: number;
  /** Raised in the instance's file whenever it is opened. */
  epoch: number;
  /** Messages enqueued and consumed by commits of this instance's sessions since it opened. */
  enqueued: number;
  consumed: number;
  commits: number;
  /** Group commits, so commits ÷ groups is how many transactions shared a sync. */
  groups: number;
  /** CPU time of the session thread and of the writer thread since they started, microseconds. */
  cpu: { sessionUs: number; writerUs: number };
  /** Shards of this instance. An unsharded queue counts as one shard, number 0, without partitions. */
  shards: ShardStats[];
}

export interface ConvertOptions
  extends Pick<QueueSpec, 'shards' | 'priorities' | 'attemptsMax' | 'retryDelayMs'> {
  /** Folder of the cluster; its instances may be at work meanwhile. */
  dir: string;
  queue: string;
  /** Bound of the message cache of every instance that was opened without one of its own, bytes; default: as it is. */
  cacheBytesMax?: number;
  /** How long to wait for consumers to empty the queue; default ten minutes. */
  drainMsMax?: number;
  /** Stops driving the conversion: it stays where it is, to be gone on with or cancelled. */
  signal?: AbortSignal;
  /** Told of each step that is due, and of the end. */
  onStep?(conversion: Conversion): void;
}

/** How far the conversion of an unsharded queue to a sharded one is. It is kept in the catalog until the queue is dropped. */
export interface Conversion {
  queue: string;
  /** The step that is due. */
  stage: ConversionStage;
  /** All steps in their order, with when each was done. */
  steps: { step: ConversionStep; passedAtMs: number | null }[];
  startedAtMs: number;
  /** The unsharded queue is there, and can go on. */
  canCancel: boolean;
  /** What the sharded queue is made of. */
  settings: Pick<QueueInfo, 'shards' | 'durability' | 'priorities' | 'attemptsMax' | 'retryDelayMs'> & {
    cacheBytesMax: number | null;
  };
}

export interface InstanceOptions {
  /** Folder of the cluster: catalog, a file per instance, the unsharded file. Made if it is missing. */
  dir: string;
  /** Number of this instance, 1 to 64; default 1. */
  instance?: number;
  /** Bound of the message cache, bytes; default what a conversion set for the cluster, else 256 MiB. */
  cacheBytesMax?: number;
  /** Messages after which a partition is full, 1 to 32,768 (the default). Smaller ones are truncated sooner and more often. */
  partitionMessagesMax?: number;
  /** Emulated: what each sync takes beyond the disk's own time, 0 (the default) to 1,000 ms, as on a slower disk. */
  emulatedSyncMs?: number;
  /**
   * How often figures of memory are written into the instance's file for the views there, if they changed; 10 to
   * 3,600,000 ms, default 1,000.
   */
  sampleMs?: number;
  /** For how long a session may hold the writer, from its first `query` to its commit; 1 to 10,000 ms, default 1,000. */
  sqlHoldMsMax?: number;
}

/** One instance, hosted in this process. Several processes may each host another instance of one folder. */
export interface Instance {
  readonly id: number;
  /** Wait events of this instance; a host may add its own waits (an emulated client round trip, say). */
  readonly waits: WaitRecorder;
  createQueue(spec: QueueSpec): Promise<QueueInfo>;
  /** Drops the queue and its messages. Throws `QUEUE_NOT_FOUND`. */
  dropQueue(name: string): Promise<void>;
  startQueue(name: string, which?: { enqueue?: boolean; dequeue?: boolean }): Promise<QueueInfo>;
  stopQueue(name: string, which?: { enqueue?: boolean; dequeue?: boolean }): Promise<QueueInfo>;
  queues(): QueueInfo[];
  /** Throws `QUEUE_NOT_FOUND`. */
  queue(name: string): QueueInfo;
  /**
   * Adds a subscriber to a topic: it gets what is committed from now on. Resolves when every live instance has committed
   * it. Subscribing again under the same name changes nothing. Throws `SUBSCRIBERS_FULL`, `SUBSCRIBER_EXISTS`, `SUBSCRIBER_PENDING`.
   */
  subscribe(topic: string, subscriber: SubscriberSpec): Promise<SubscriberInfo>;
  /** Removes a subscriber and what it has not consumed. Throws `SUBSCRIBER_NOT_FOUND`. */
  unsubscribe(topic: string, name: string): Promise<void>;
  subscribers(topic: string): SubscriberInfo[];
  openSession(): Session;
  /**
   * Pages through what is committed and not consumed, of a topic by one subscriber; oldest first in each shard, then what
   * is not due yet. Consumes and holds nothing. With `correlationId` only those that have it, exactly: without an index on it
   * (`correlationIndex`) that reads the whole backlog.
   */
  browse(
    queue: string,
    options?: { limit?: number; after?: string; subscriber?: string; correlationId?: string },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }>;
  stats(): InstanceStats;
  /** What is to be seen of a queue on this instance. Throws `QUEUE_NOT_FOUND`. */
  queueStats(name: string): QueueStats;
  /** Rolls back open transactions, finishes the commits under way and closes the files. */
  close(): Promise<void>;
}

/**
 * All instances of a cluster as one. A session enqueues to one of them, as long as that stays; it dequeues from any. A
 * transaction lies on one instance, and so do the receipts of one call (`TX_SPANS_INSTANCES`).
 */
export interface ClusterClient extends Omit<RemoteInstance, 'id' | 'stats' | 'queueStats' | 'waits'> {
  /** Of each instance that answers; of an unsharded queue, whose file they share, from one. */
  queueStats(name: string): Promise<QueueStats[]>;
}

/**
 * An instance that another process serves. Its sessions outlive the connection: a lost one is made again, and a commit
 * whose answer was lost is looked up. A call that got no answer rejects with `INSTANCE_UNREACHABLE`.
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
    | 'openSession'
    | 'browse'
  > {
  queues(): Promise<QueueInfo[]>;
  /** Rejects with `QUEUE_NOT_FOUND`. */
  queue(name: string): Promise<QueueInfo>;
  subscribers(topic: string): Promise<SubscriberInfo[]>;
  stats(): Promise<InstanceStats>;
  queueStats(name: string): Promise<QueueStats>;
  /** Wait events of the instance since it opened. */
  waits(): Promise<WaitStats[]>;
  /** Closes its sessions and the connection. The instance goes on. */
  close(): Promise<void>;
}
