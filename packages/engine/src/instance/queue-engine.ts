/**
 * What an instance asks of a kind of queue. Two kinds stand behind it: sharded ones in the instance's own file, and
 * unsharded ones in the file that all instances share. A transaction belongs to one of them, since no commit spans files.
 */
import type { QueueErrorCode } from '../core/errors.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import type { QueueStats } from '../queue-stats.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { ChunkedPayload, RecordContent, RecordRun } from '../storage/message-record.ts';
import type { SubscriberRow } from '../storage/subscriber-table.ts';
import type {
  BrowsedMessage,
  DequeueOptions,
  Message,
  ReceiveOptions,
  ShardStats,
  SqlResult,
  SubscriberInfo,
} from '../types.ts';
import type { BrowseOptions } from './browse.ts';
import type { Committed } from './committed.ts';
import type { PayloadSource } from './payload-upload.ts';
import type { OutcomeTag } from './staged-transaction.ts';

/** The open transaction of a session. After `commit` or `rollback` it is spent. */
export interface QueueTransaction {
  readonly engine: QueueEngine;
  /** Nothing is staged and nothing held: it may be forgotten as it is. */
  readonly isEmpty: boolean;
  /** Throws `QUEUE_DROPPED`, `QUEUE_CONVERTED` if a queue that it touches is gone. */
  assertThere(): void;
  /** One whose payload lies in chunks comes from `upload`; a rollback discards them. */
  enqueue(queue: QueueRow, message: RecordContent): void;
  /** Enqueues messages that came as records, all of them plain (`isPlain`) and looked at (`checkRecord`). */
  enqueueRecords(queue: QueueRow, records: RecordRun): void;
  dequeue(
    queue: QueueRow,
    options: Required<Pick<DequeueOptions, 'max' | 'waitMs'>> & DequeueOptions,
  ): Promise<Message[]>;
  acknowledge(queue: QueueRow, receipts: readonly string[]): void;
  /** Stages a statement of the application, checked by `checkStatement`. Throws `TX_SPANS_FILES` where its tables do not lie. */
  execute(statement: SqlStatement, bytes: number): void;
  /**
   * Runs a statement of the application, checked by `checkStatement`, and answers it. The first one takes the writer: until
   * the transaction ends no other is written, so it ends within a bounded time, and nothing in it may wait for the writer.
   */
  query(statement: SqlStatement): Promise<SqlResult>;
  readonly holdsWriter: boolean;
  commit(outcome?: OutcomeTag): Promise<Committed>;
  rollback(): Promise<void>;
}

/** What became of a queue that is no more. */
export type GoneCode = Extract<QueueErrorCode, 'QUEUE_DROPPED' | 'QUEUE_CONVERTED'>;

export interface QueueCounts {
  shards: number;
  cacheBytes: number;
  ready: number;
  held: number;
  delayed: number;
  enqueued: number;
  consumed: number;
  movedIn: number;
  movedOut: number;
}

export interface QueueEngine {
  /** `session` is a number of the instance's own, never reused while it runs. */
  begin(session: number): QueueTransaction;
  /** The session ended: what was bound to it is let go. */
  endSession(session: number): void;
  receive(
    queue: QueueRow,
    options: Required<Pick<ReceiveOptions, 'max' | 'waitMs' | 'holdMs'>> & ReceiveOptions,
  ): Promise<Message[]>;
  /** Takes a payload in, ahead of its message. Throws `STREAM_UNSUPPORTED`, and see `uploadAll`. */
  upload(queue: QueueRow, source: PayloadSource): Promise<ChunkedPayload | Buffer>;
  /** No message will have the payload. */
  discard(payload: ChunkedPayload): void;
  /** The message that a timed hold is of. Throws `RECEIPT_STALE`, `STREAM_UNSUPPORTED`. */
  lookUp(queue: QueueRow, receipt: string): Message;
  release(queue: QueueRow, receipts: readonly string[]): Promise<void>;
  extend(queue: QueueRow, receipts: readonly string[], holdMs: number): void;
  counts(queue: QueueRow): QueueCounts;
  shardStats(queue: QueueRow): ShardStats[];
  queueStats(queue: QueueRow): QueueStats;
  browse(
    queue: QueueRow,
    options: BrowseOptions & { subscriber: string | undefined },
  ): Promise<{ messages: BrowsedMessage[]; next: string | null }>;
  /**
   * Takes over who subscribes to a topic. Resolves when that is durable: new ones get what is committed from then on,
   * those that are gone leave nothing behind.
   */
  subscribe(queue: QueueRow, subscribers: readonly SubscriberRow[]): Promise<void>;
  subscribers(queue: QueueRow): SubscriberInfo[];
  /** The queue is gone from the catalog: waiting calls are rejected with `code` and its messages removed. */
  drop(queue: QueueRow, code: GoneCode): Promise<void>;
  /** The queue is stopped for dequeue: waiting calls are rejected. */
  stopDequeue(queue: QueueRow): void;
  readonly totals: { enqueued: number; consumed: number; commits: number; groups: number };
  close(): Promise<void>;
}
