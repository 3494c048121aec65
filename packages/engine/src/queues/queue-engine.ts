/**
 * The interfaces through which an instance uses a kind of queue. There are three kinds: sharded queues in the instance's own
 * file, and two kinds of unsharded queues in the file that all instances share, which differ in the process that writes it. A
 * transaction belongs to one kind, since no commit spans files or writers.
 */

import type { QueueErrorCode } from '../api/errors.ts';
import type { ShardStats } from '../api/instance-stats.ts';
import type { BrowsedMessage, Message, NewMessage } from '../api/message.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { DequeueOptions, ReceiveOptions } from '../api/session.ts';
import type { SqlResult } from '../api/sql.ts';
import type { SubscriberInfo } from '../api/subscriber.ts';
import type { OutcomeTag } from '../commit/staged-transaction.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { CorrelationKey } from '../model/correlation-key.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { Seq, SessionNumber } from '../model/ids.ts';
import type { ChunkedPayload, RecordContent, RecordRun } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { ServiceStateRow } from '../model/service-rows.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import type { SubscriberRow } from '../model/subscriber-row.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { PayloadSource } from '../payloads/upload-all.ts';

/** The parts of one kind of queue. */
export interface QueueEngine {
  readonly transactions: TransactionSource;
  readonly receiver: MessageReceiver;
  readonly browser: QueueBrowser;
  readonly statistics: QueueStatistics;
  readonly lifecycle: QueueLifecycle;
  readonly topics: TopicEngine;
  /** Undefined where no queue can have immediate visibility. */
  readonly immediate: ImmediateCalls | undefined;
  /** Undefined where payloads cannot be streamed. */
  readonly streams: PayloadStreams | undefined;
  /** Undefined where messages are not delivered ahead of a consumer's calls. */
  readonly pipelines: PipelineSource | undefined;
}

export interface ValidDequeueOptions extends DequeueOptions {
  max: number;
  waitMs: number;
  /** Undefined: no bound. */
  bytesMax?: number;
  /** Time book of the calling session, if a session calls. */
  time?: RecordedTime;
  /** Its number. */
  session?: SessionNumber;
  /** How many messages can be taken at the moment, asked again after a wait; by default `max`. Throws why none can be. */
  capacity?(): number;
}
export type ValidReceiveOptions = ValidDequeueOptions & ReceiveOptions & { holdMs: number };

export interface TransactionSource {
  /** `session` is a number of the instance's own, never reused while it runs. */
  beginTransaction(session: SessionNumber, time: RecordedTime | undefined): QueueTransaction;
}

export interface Acknowledgement {
  row: QueueRow;
  receipts: readonly string[];
}

/** A commit with an idempotency key. */
export interface KeyedCommit {
  key: string;
  /**
   * They belong to the content that is compared with the first attempt's, but are not staged yet: in a replay their messages
   * are already consumed.
   */
  acknowledged: readonly Acknowledgement[];
  /** Stages them, if this is no replay. May throw. */
  stageRest(): void;
  outcome: OutcomeTag | undefined;
}

/** The open transaction of a session. After `commit` or `rollback` it is not used again. */
export interface QueueTransaction {
  readonly source: TransactionSource;
  /** Nothing is staged or held: it can be dropped without a rollback. */
  readonly isEmpty: boolean;
  /** Undefined where statements of the application cannot be part of the transaction. */
  readonly statements: TransactionStatements | undefined;
  /** A statement was answered, and the writer serves no other transaction until this one ends. */
  readonly hasReservedWriter: boolean;
  /** Throws `QUEUE_DROPPED`, `QUEUE_CONVERTED` if a queue that it touches is gone. */
  assertQueuesExist(): void;
  /** A message with a payload in chunks comes from `PayloadStreams.upload`; a rollback discards the payload. */
  enqueue(queue: QueueRow, message: RecordContent): void;
  /** Enqueues messages that came as records, all of them plain (`isPlain`) and validated (`validateRecord`). */
  enqueueRecords(queue: QueueRow, records: RecordRun): void;
  dequeue(queue: QueueRow, options: ValidDequeueOptions): Promise<Message[]>;
  acknowledge(queue: QueueRow, receipts: readonly string[]): void;
  /** Whether this message was delivered to it. Undefined where messages are not traced. */
  holds?(cursor: SubscriberCursor, seq: Seq): boolean;
  /** Stages what a singleton service keeps. Undefined where that cannot be part of the transaction. */
  writeServiceState?(row: ServiceStateRow): void;
  commit(outcome?: OutcomeTag): Promise<LazyCommitResult>;
  /** Commits unless a transaction of this key was committed before. Throws what `CommitOptions.idempotencyKey` says. */
  commitOnce(keyed: KeyedCommit): Promise<LazyCommitResult>;
  /** Resolves when the messages that were dequeued are counted and returned. */
  rollback(how?: ValidReturn): Promise<void>;
}

/**
 * A promise only if the caller is to resume in a later turn: without a promise for every other call, calls take a sixth less
 * CPU.
 */
export type MaybeLater<T> = T | Promise<T>;

/** Calls on queues with immediate visibility, validated as those of a transaction. They are no part of one. */
export interface ImmediateCalls {
  /**
   * All messages or none; they are visible when it returns. Throws or rejects with `ENQUEUE_RATE_TOO_HIGH`, and what an
   * enqueue and a commit throw.
   */
  enqueue(
    queue: QueueRow,
    session: SessionNumber,
    messages: readonly NewMessage[],
  ): MaybeLater<LazyCommitResult>;
  /** The same for messages that came as records, as `QueueTransaction.enqueueRecords`. */
  enqueueRecords(queue: QueueRow, session: SessionNumber, records: RecordRun): MaybeLater<LazyCommitResult>;
  /** Either of these. If the queue has reached its quota, waits for room behind the sends that wait already. */
  send(
    queue: QueueRow,
    session: SessionNumber,
    content: SendContent,
    options: SendOptions,
  ): MaybeLater<LazyCommitResult>;
  /** The messages are consumed when it resolves. */
  dequeue(queue: QueueRow, session: SessionNumber, options: ValidDequeueOptions): Promise<Message[]>;
}

export type SendContent = RecordRun | readonly NewMessage[];

export interface SendOptions {
  /** How long to wait for room, ms; 0: not at all. */
  blockMs: number;
  /** Ends the wait, with its reason. */
  signal: AbortSignal;
  /** Throws if the queue takes no messages any more. Called before anything is enqueued after a wait. */
  assertTakesMessages(): void;
}

export interface PipelineSource {
  open(session: SessionNumber): DeliveryPipeline;
}

/**
 * Messages that were delivered to one consumer ahead of its calls, in the order of their delivery. They are held until they
 * are consumed or returned; the consumer sees and acknowledges them from the first one on.
 */
export interface DeliveryPipeline {
  /** Number of messages that are held. */
  readonly size: number;
  /** Delivers more, as a dequeue does. */
  deliver(queue: QueueRow, options: ValidDequeueOptions): Promise<Message[]>;
  /** Stages the consumption of the first `count` messages, at most `size`. Rolled back, they return to their queue. */
  consumeIn(transaction: QueueTransaction, queue: QueueRow, count: number): void;
  /** Consumes the first `count` messages, at most `size`. If that fails they return to their queue. */
  consume(queue: QueueRow, count: number): MaybeLater<void>;
  /**
   * Returns all: the consumer has seen the first `seen` messages, so that their delivery counts, and they are returned as `how`
   * says. A promise if that waits for a commit; it never rejects.
   */
  returnAll(seen: number, how?: ValidReturn): Promise<void> | undefined;
  /** Returns those behind the first `seen`, at most `size`: the consumer has not seen them. */
  returnUnseen(seen: number): void;
}

/** The application's own SQL statements in a transaction, validated by `validateStatement`. */
export interface TransactionStatements {
  /** Stages a statement that runs at the commit. */
  execute(statement: SqlStatement, bytes: number): void;
  /**
   * Runs a statement at once. The first one reserves the writer: until the transaction ends no other is written, so it
   * ends within a bounded time, and nothing in it may wait for the writer.
   */
  query(statement: SqlStatement): Promise<SqlResult>;
}

/** Deliveries under timed holds, each with a receipt. */
export interface MessageReceiver {
  receive(queue: QueueRow, options: ValidReceiveOptions): Promise<Message[]>;
  /** Throws `RECEIPT_STALE`. */
  release(queue: QueueRow, receipts: readonly string[], how?: ValidReturn): Promise<void>;
  /** Throws `RECEIPT_STALE`. */
  extend(queue: QueueRow, receipts: readonly string[], holdMs: number): void;
}

/** Payloads that are uploaded and read in chunks. */
export interface PayloadStreams {
  /**
   * Uploads a payload ahead of its message. `time`: of the session that waits for it, if its program marks when it runs. Throws
   * `STREAM_UNSUPPORTED`, and what `uploadAll` throws.
   */
  upload(queue: QueueRow, source: PayloadSource, time?: RecordedTime): Promise<ChunkedPayload | Buffer>;
  /** The payload gets no message. */
  discard(payload: ChunkedPayload): void;
  /** The message under a timed hold. Throws `RECEIPT_STALE`. */
  messageOfReceipt(queue: QueueRow, receipt: string): Message;
}

export interface BrowseOptions {
  limit: number;
  /** The `next` of the page before. */
  after: string | undefined;
  /** Only messages with this correlation id. */
  key: CorrelationKey | undefined;
  /** True: browses the consumed messages that are retained, instead of the others. */
  processed: boolean;
  /** Bytes of records; undefined: no bound. */
  bytesMax: number | undefined;
  /** Only messages in this state. */
  state: 'ready' | 'held' | 'delayed' | undefined;
}

export interface BrowsedPage {
  messages: BrowsedMessage[];
  next: string | null;
}

export interface QueueBrowser {
  browse(queue: QueueRow, options: BrowseOptions & { subscriber: string | undefined }): Promise<BrowsedPage>;
}

export interface QueueCounts {
  shards: number;
  cacheBytes: number;
  ready: number;
  held: number;
  delayed: number;
  enqueued: number;
  consumed: number;
  forwardedIn: number;
  forwardedOut: number;
  refused: number;
  lost: number;
}

/** Since the instance was opened, over all queues of the kind. */
export interface EngineTotals {
  enqueued: number;
  consumed: number;
  commits: number;
  groups: number;
  syncs: number;
}

export interface QueueStatistics {
  readonly totals: EngineTotals;
  counts(queue: QueueRow): QueueCounts;
  shardStats(queue: QueueRow): ShardStats[];
  queueStats(queue: QueueRow): QueueStats;
}

/** Why a queue is gone. */
export type GoneCode = Extract<QueueErrorCode, 'QUEUE_DROPPED' | 'QUEUE_CONVERTED'>;

export interface QueueLifecycle {
  /** The queue is gone from the catalog: rejects its waiting calls with `code` and removes its messages. */
  drop(queue: QueueRow, code: GoneCode): Promise<void>;
  /** The queue was stopped for dequeue: rejects its waiting calls. */
  stopDequeue(queue: QueueRow): void;
}

/** Subscribers of topics. */
export interface TopicEngine {
  /**
   * Makes the subscribers of a topic exactly those that `read` returns. Resolves with them when that is durable: a new subscriber
   * gets the messages that are committed from then on, and the backlogs of removed ones are deleted.
   */
  applySubscribers(topic: QueueRow, read: () => readonly SubscriberRow[]): Promise<readonly SubscriberRow[]>;
  /** Removes a temporary subscriber with its messages; false if there is none of this name. */
  removeTemporary(topic: QueueRow, name: string): Promise<boolean>;
  /** All subscribers, or the one with this name. */
  subscribers(topic: QueueRow, name?: string): SubscriberInfo[];
}
