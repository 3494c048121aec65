/** A session: a client's ordered context, with at most one transaction at a time. */
import type { Message, NewMessage, StreamedMessage } from './message.ts';
import type { SqlParameters, SqlResult } from './sql.ts';
import type { SessionTime } from './waits.ts';
import type { XaSession } from './xa.ts';

export interface DequeueOptions {
  /** Upper bound of messages, 1 to 10,000; default 1. Whatever is ready is returned at once. */
  max?: number;
  /** How long to wait for the first message, milliseconds; 0 (the default) does not wait. */
  waitMs?: number;
  /** Name of the subscriber: required for a topic, refused for a queue. */
  subscriber?: string;
  /** Aborts the wait: the call then returns no messages. */
  signal?: AbortSignal;
}

export interface ReceiveOptions extends DequeueOptions {
  /** Time after which unacknowledged messages return to the queue, milliseconds; default 30,000. */
  holdMs?: number;
  /**
   * Upper bound of the bytes of the messages, each with its keys and properties; a streamed payload does not count. The first
   * message is delivered whatever its size. Default: no bound but `max`.
   */
  bytesMax?: number;
  /** A receipt. A client of a whole cluster then receives only from its instance, so that both can be acknowledged together. */
  sameInstanceAs?: string;
}

export interface CommitOptions {
  /**
   * Names the transaction, 1 to 200 printable ASCII characters: it is committed once, however often it is sent. The key is
   * stored with the commit and known for 24 hours, or until 1,000,000 later ones were stored on the instance.
   *
   * - Committed before under this key: nothing is done again, and the result is `replayed`.
   * - With other content: `IDEMPOTENCY_KEY_REUSED`. Content is queues, messages, statements and receipts, in order.
   * - Being committed by another session: waits for that. If it fails, this one is committed.
   *
   * Messages that are consumed must be named by receipts (`acknowledge`). `IDEMPOTENCY_KEY_UNSUPPORTED` refuses and rolls
   * back a transaction with dequeued messages, a `query`, or a queue that is unsharded or of durability `memory`; and over a
   * cluster one with a streamed payload whose upload did not name the key. A replay needs queues that exist and are open for
   * enqueue, as any transaction does; a streamed payload is uploaded again, compared and discarded.
   */
  idempotencyKey?: string;
}

export interface CommitResult {
  /** Ids of the messages that the transaction enqueued, in the order of its enqueue calls. */
  ids: string[];
  /**
   * Results of its statements, in the order of the `execute` calls. They are not stored: throws `SQL_RESULTS_LOST` if the
   * commit succeeded but its answer was lost with the connection, and if it is `replayed`.
   */
  readonly results: SqlResult[];
  /** A transaction with this idempotency key and content was committed before: `ids` are those of that one, and nothing was done now. */
  readonly replayed: boolean;
}

/**
 * How messages go back to their queue. The commit that returns them counts their delivery. A message whose attempts are used up
 * (`attemptsMax`) moves to the exception queue with the error and the times of its attempts instead.
 */
export interface ReturnOptions {
  /**
   * Why the consumer failed: whatever was thrown. Its name, message and stack are kept with the message, cut to 128, 1,024 and
   * 4,096 bytes. On a queue without `retryDelayMs` the message then waits for a back-off: 100 ms, doubled with each attempt up
   * to 10 s.
   */
  error?: unknown;
  /** Time until it can be delivered again, 0 ms to an hour. Default: the queue's `retryDelayMs`, doubled with each attempt. */
  delayMs?: number;
  /** True: it moves to the exception queue at once, whatever its attempts. Queues without one get it then. */
  reject?: boolean;
}

/** Ids of the messages that were enqueued, in the order of the call. */
export type EnqueueResult = Pick<CommitResult, 'ids'>;

/**
 * The first operation begins a transaction. Work of one session on one queue keeps its order. Calls of a session must not
 * overlap (`SESSION_BUSY`).
 */
export interface Session {
  readonly id: string;
  /** The session's time book; undefined for a session of a client. */
  readonly time?: SessionTime;
  /** Branches of distributed transactions; undefined for a session on a worker thread. */
  readonly xa?: XaSession;
  /**
   * Requests that the session has sent to its instance, each with its answer; for an embedded session the calls for which a
   * remote one sends a request. Staged operations travel with `commit`, `xa.flush` and `xa.end`. Undefined for a session on a
   * worker thread.
   */
  readonly roundTrips?: number;
  /**
   * Stages a message for the commit. Throws the errors that the message itself causes (`PAYLOAD_TOO_LARGE`, `MESSAGE_INVALID`).
   * Errors that only the instance can find (`QUEUE_NOT_FOUND`, `ENQUEUE_STOPPED`, `TX_SPANS_FILES`, …) are thrown here or, at the
   * latest, by the commit, which then changes nothing. So is `VISIBILITY_MISMATCH`, where visibility is immediate.
   */
  enqueue(queue: string, message: NewMessage): void;
  /**
   * Enqueues to a queue with immediate visibility, all messages or none: they can be dequeued when the call resolves, no
   * commit is needed, and a rollback does not undo it. It is no part of the session's transaction. Messages of one session
   * keep their order. Past the queue's `messagesMax` it rejects with `ENQUEUE_RATE_TOO_HIGH`
   * (`details: { undelivered, messagesMax, retryAfterMs }`); other queues reject with `VISIBILITY_MISMATCH`. After
   * `COMMIT_OUTCOME_UNKNOWN`, of a remote session whose connection was lost, the messages may be in the queue.
   */
  enqueueNow(queue: string, ...messages: NewMessage[]): Promise<EnqueueResult>;
  /**
   * Uploads the payload in chunks, with bounded memory, and stages its message for the commit; until then it is invisible.
   * A payload that fits one chunk (256 KiB) is staged as by `enqueue`. Persistent sharded queues only
   * (`STREAM_UNSUPPORTED`). A payload that ends early (`PAYLOAD_INCOMPLETE`), differs from its stated length
   * (`PAYLOAD_LENGTH_WRONG`) or is too large (`PAYLOAD_TOO_LARGE`) leaves nothing behind and the transaction unchanged. So
   * does a connection lost during the upload (`INSTANCE_UNREACHABLE`), unless the instance already had a part of the
   * transaction: then its next call rejects with `TX_NOT_COMMITTED`.
   */
  enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }>;
  /**
   * Delivers messages. This session's commit consumes them; its rollback or close returns them to the queue. Rejects with
   * `VISIBILITY_MISMATCH` where visibility is immediate.
   */
  dequeue(queue: string, options?: DequeueOptions): Promise<Message[]>;
  /**
   * Delivers messages of a queue with immediate visibility and consumes them at once, outside the transaction: at most once.
   * Messages that a consumer has taken when it fails, or that are in flight over a lost connection, are gone; `receive` and
   * `acknowledge` deliver at least once while the instance runs. Other queues reject with `VISIBILITY_MISMATCH`.
   */
  dequeueNow(queue: string, options?: DequeueOptions): Promise<Message[]>;
  /** Delivers messages under a timed hold, outside the transaction. Any session can finish them by their receipts. */
  receive(queue: string, options?: ReceiveOptions): Promise<Message[]>;
  /**
   * Stages the consumption of received messages for the commit; until then their hold keeps running. A receipt that is
   * stale at the commit, or named twice, rejects it with `RECEIPT_STALE`, and nothing of the transaction is done.
   */
  acknowledge(queue: string, receipts: string[]): void;
  /**
   * Stages one statement of the application's own SQL: rows and messages commit together or not at all. The statements
   * run in order at the commit, which returns their results. If one fails, the commit rejects (`SQL_INVALID`,
   * `SQL_REFUSED`, `SQL_FAILED`, `SQL_TOO_LARGE`, `SQL_TOO_SLOW`; `details.statement` is its index) and nothing of the transaction
   * is done. The same happens if statements of other transactions left no time for these (`SQL_NOT_RUN`), or if they write to rows
   * that a branch in doubt has kept locked for longer than `sqlLockMsMax` (`SQL_LOCK_TIMEOUT`).
   *
   * The application's tables are in the file of one instance, the one that ran the first statement. Other instances reject with
   * `SQL_ELSEWHERE`, unless the session works in a tightly coupled branch whose home is that instance: the statements then run
   * there. Which statements are allowed: `docs/decisions/application-sql.md`.
   */
  execute(sql: string, parameters?: SqlParameters): void;
  /**
   * Runs one statement of the application's own SQL in the transaction and returns its result at once, so that later statements
   * and messages can depend on it. All of it commits together or not at all. A statement that fails (`SQL_INVALID`,
   * `SQL_REFUSED`, `SQL_FAILED`, `SQL_TOO_LARGE`), or meets rows that a branch in doubt has locked (`SQL_LOCKED`), is undone
   * alone, and the transaction stays open. One that takes too long (`SQL_TOO_SLOW`) or ends its process (too much memory:
   * `SQL_TOO_LARGE` with `details.memoryBytesMax`) ends the transaction: all of it is undone, and query and commit reject with
   * the same error.
   *
   * The first query reserves the instance's writer: until this commit or rollback, every other commit of the instance waits (wait
   * event `writer reservation`). The reservation lasts at most `writerReservationMsMax`; past it the statements are undone, and
   * query and commit reject with `WRITER_RESERVATION_EXPIRED`. Calls that may wait for the writer are refused meanwhile
   * (`WRITER_RESERVED`), so dequeue before the first query. Only for sessions in the process of their instance
   * (`QUERY_UNSUPPORTED`). If no statement depends on another's result, use `execute`, which delays no other session. The same
   * statements are allowed as there.
   */
  query(sql: string, parameters?: SqlParameters): Promise<SqlResult>;
  /**
   * Returns received messages to the queue; resolves when they are ready, or wait for their delay or their move. If a receipt
   * is stale, none is released.
   */
  release(queue: string, receipts: string[], options?: ReturnOptions): Promise<void>;
  /** The message that any session received with this receipt; `RECEIPT_STALE` if its hold has ended. */
  messageOfReceipt(queue: string, receipt: string): Promise<Message>;
  /** Restarts the hold of received messages. If a receipt is stale, none is extended. */
  extend(queue: string, receipts: string[], holdMs: number): Promise<void>;
  /** Resolves once the transaction is durable as its queues promise; an empty one resolves at once. */
  commit(options?: CommitOptions): Promise<CommitResult>;
  /** Undoes the transaction. The messages that it dequeued go back as `options` says; acknowledged ones stay held. */
  rollback(options?: ReturnOptions): Promise<void>;
  /** Rolls back and ends the session. */
  close(): Promise<void>;
}
