/** Queues and topics: how they are specified, and what is known of one. Times are in milliseconds, sizes in bytes. */
import type { QueueErrorCode } from './errors.ts';

/**
 * `unsharded` and `unsharded-grouped` are stored in the same way, in one table that all instances share. With `unsharded`
 * each session commits for itself; with `unsharded-grouped` an elected process writes for all sessions, many at a time.
 */
export type QueueKind = 'sharded' | 'unsharded' | 'unsharded-grouped';

/** What survives a killed process or a power cut once a commit is acknowledged: see `docs/data-layout.md`. */
export type Durability = 'durable' | 'relaxed' | 'memory';

/**
 * `commit`: an enqueue is visible, and a dequeue consumes, with the session's commit. `immediate`: each call takes effect
 * when it returns, outside the session's transaction, by `enqueueNow` and `dequeueNow`.
 */
export type Visibility = 'commit' | 'immediate';

/** `queue`: each message has one consumer. `topic`: each subscriber gets every message. */
export type QueueType = 'queue' | 'topic';

export interface QueueSpec {
  name: string;
  /** Default `sharded`. */
  kind?: QueueKind;
  /** Default `queue`. A topic stores a message once, whatever its kind and the number of its subscribers. */
  type?: QueueType;
  /** Number of shards on each instance, 1 to 16, default 1. Ignored for an unsharded queue. */
  shards?: number;
  /** Default `durable`. */
  durability?: Durability;
  /**
   * Default `commit`. `immediate` makes a _buffered queue_: `durability` is then `memory`, and no message of it is ever
   * written to a file.
   */
  visibility?: Visibility;
  /**
   * Flow control, of a queue with immediate visibility only: past this many undelivered messages (enqueued and not yet
   * consumed, held ones included) on an instance, it refuses an enqueue with `ENQUEUE_RATE_TOO_HIGH`. 1 to 10,000,000,
   * default 5,000.
   */
  messagesMax?: number;
  /** Default false. True: messages have priorities; more urgent ones are delivered first within a shard. */
  priorities?: boolean;
  /**
   * Deliveries of a message before it moves to the exception queue, 1 to 1,000; default: no limit. With a limit, each
   * delivery is made durable before the message is handed over, so a message that crashes its consumer is counted. The
   * exception queue is created with the queue and named `<name>.exceptions`. Sharded queues and all topics.
   */
  attemptsMax?: number;
  /** Delay before a returned message is delivered again, doubled each time; default 0, at most an hour. Sharded queues and all topics. */
  retryDelayMs?: number;
  /**
   * How long consumed messages are kept at least, for `browse` with `processed`; default 0, at most two weeks. They keep their
   * partitions from being truncated, so they need room on the disk and in the pool of partitions (`BACKLOG_FULL`). The time begins
   * when all of a partition is consumed, and starts again when the instance is opened. Persistent sharded queues without
   * forwarding only.
   */
  retentionMs?: number;
  /**
   * Default true for a persistent sharded queue without retention; others cannot. Messages move from an instance without a local
   * consumer to instances where consumers wait. Without it, or while no other instance is served, a dequeue on an instance
   * whose own shards are empty returns no messages (Oracle reports ORA-25228).
   */
  forwarding?: boolean;
  /**
   * Bytes of each instance's message cache reserved for this queue; default 0. The reservations of all queues together
   * must fit the cache.
   */
  cacheBytesMin?: number;
  /**
   * Bytes of the message cache that the queue may fill; default: all that is free. Past it, a nonpersistent queue refuses
   * messages (`BACKLOG_FULL`), and a persistent one reads them back from their partitions later.
   */
  cacheBytesMax?: number;
  /**
   * Default false. True: the partitions of the queue and of its exception queue have a local index on correlation ids, so
   * that a `browse` for one reads four bytes a message instead of the messages. Persistent sharded queues only.
   */
  correlationIndex?: boolean;
  /**
   * Default false. True: recipients of a message that do not subscribe become temporary subscribers instead of being refused
   * (`SUBSCRIBER_NOT_FOUND`). A temporary subscriber gets only messages that name it. It is removed when its last message is
   * consumed, or by `unsubscribe`, and not when instances close. The limit of subscribers does not count temporary ones; each has
   * at least one message. Unsharded topics only.
   */
  temporarySubscribers?: boolean;
}

export interface QueueInfo {
  name: string;
  kind: QueueKind;
  type: QueueType;
  shards: number;
  durability: Durability;
  visibility: Visibility;
  /** Null: without flow control. */
  messagesMax: number | null;
  priorities: boolean;
  /** Null: no limit. */
  attemptsMax: number | null;
  retryDelayMs: number;
  retentionMs: number;
  forwarding: boolean;
  cacheBytesMin: number;
  /** Null: all that is free. */
  cacheBytesMax: number | null;
  correlationIndex: boolean;
  temporarySubscribers: boolean;
  /** Bytes of its messages in the message cache of this instance. */
  cacheBytes: number;
  /** Name of the queue that receives messages past `attemptsMax`; null without a limit. */
  exceptionQueue: string | null;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
  /**
   * Messages committed, not consumed and not held: on this instance for a sharded queue, in the whole file for an
   * unsharded one. For a topic, the longest backlog of its subscribers.
   */
  ready: number;
  held: number;
  /** Messages that are not due yet or wait for their retry delay. */
  delayed: number;
  /** Messages committed and consumed since the queue was created. */
  enqueued: number;
  consumed: number;
  /**
   * Messages forwarded from and to other instances since the queue was created; one that is returned counts again. At all
   * times enqueued + forwardedIn = ready + held + delayed + consumed + forwardedOut.
   */
  forwardedIn: number;
  forwardedOut: number;
  /** Messages that flow control refused since the instance opened: see `messagesMax`. */
  refused: number;
  /**
   * Messages of a nonpersistent queue that were in memory when the instance stopped before it was opened: exact after an
   * orderly close, else as of its last sample.
   */
  lost: number;
  /** In a list only: why the counts are unknown and shown as 0. Calls on the queue throw the same error. */
  fault?: { code: QueueErrorCode; message: string };
}
