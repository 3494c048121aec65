/**
 * Every error that the engine throws. Codes are API: never renamed, never reused. `kind` is what a host maps to a
 * status of its own; the engine knows no HTTP. `docs/errors.md` is held equal to this table by a test.
 */
import { CodedError, type CodeEntry, type ErrorFacts } from './coded-error.ts';

export type ErrorKind =
  | 'invalid'
  | 'not-found'
  | 'conflict'
  | 'too-large'
  | 'unavailable'
  | 'unsupported'
  | 'failed';

interface ErrorEntry extends CodeEntry {
  kind: ErrorKind;
}

const table = {
  QUEUE_NOT_FOUND: { kind: 'not-found', retryable: false, message: 'There is no queue of this name' },
  QUEUE_EXISTS: { kind: 'conflict', retryable: false, message: 'A queue of this name exists already' },
  QUEUE_SPEC_INVALID: { kind: 'invalid', retryable: false, message: 'The queue cannot be made as described' },
  QUEUE_DROPPED: {
    kind: 'conflict',
    retryable: false,
    message: 'The queue was dropped while the call was under way',
  },
  QUEUE_IN_USE: {
    kind: 'conflict',
    retryable: false,
    message: 'It is the exception queue of another queue, which would have nowhere to put its failures',
  },
  QUEUE_CONVERTING: {
    kind: 'conflict',
    retryable: true,
    message: 'The queue is being converted to a sharded one',
  },
  QUEUE_CONVERTED: {
    kind: 'conflict',
    retryable: true,
    message:
      'The queue became a sharded one while the call was under way; nothing of it was done, and made again it finds the new one',
  },
  QUEUE_NOT_CONVERTIBLE: { kind: 'conflict', retryable: false, message: 'The queue is sharded already' },
  QUEUE_NOT_DRAINED: {
    kind: 'conflict',
    retryable: true,
    message: 'The queue that is being converted still holds messages',
  },
  CONVERSION_NOT_FOUND: {
    kind: 'not-found',
    retryable: false,
    message: 'The queue is not being converted',
  },
  CONVERSION_PAST_CANCEL: {
    kind: 'conflict',
    retryable: false,
    message: 'The sharded queue is there already: the conversion can only be finished',
  },
  ENQUEUE_STOPPED: { kind: 'conflict', retryable: true, message: 'The queue is stopped for enqueue' },
  DEQUEUE_STOPPED: { kind: 'conflict', retryable: true, message: 'The queue is stopped for dequeue' },
  PAYLOAD_TOO_LARGE: { kind: 'too-large', retryable: false, message: 'The payload is over the limit' },
  PAYLOAD_STREAMED: {
    kind: 'invalid',
    retryable: false,
    message: 'The payload lies in chunks: it is read as a stream',
  },
  PAYLOAD_INCOMPLETE: {
    kind: 'invalid',
    retryable: true,
    message: 'The payload broke off before its end; nothing of it is kept',
  },
  PAYLOAD_LENGTH_WRONG: {
    kind: 'invalid',
    retryable: false,
    message: 'The payload is not as long as was said; nothing of it is kept',
  },
  PAYLOAD_GONE: {
    kind: 'not-found',
    retryable: false,
    message: 'The payload is no longer there: its message was consumed, or its queue dropped',
  },
  STREAM_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'Payloads are streamed to and from persistent sharded queues only',
  },
  UPLOADS_FULL: {
    kind: 'unavailable',
    retryable: true,
    message: 'As many payloads are being streamed in as may be',
  },
  MESSAGE_INVALID: { kind: 'invalid', retryable: false, message: 'The message cannot be stored as it is' },
  TX_TOO_LARGE: { kind: 'too-large', retryable: false, message: 'The transaction is over the limit' },
  TX_SPANS_FILES: {
    kind: 'invalid',
    retryable: false,
    message:
      'A transaction touches either sharded queues or unsharded ones, since they lie in different files',
  },
  TX_SPANS_INSTANCES: {
    kind: 'invalid',
    retryable: false,
    message: 'A transaction, and the receipts of one call, lie on one instance',
  },
  SQL_INVALID: {
    kind: 'invalid',
    retryable: false,
    message: 'The statement or its parameters are not valid',
  },
  SQL_REFUSED: {
    kind: 'unsupported',
    retryable: false,
    message: 'The statement does what an application may not do in a queue transaction',
  },
  SQL_FAILED: {
    kind: 'conflict',
    retryable: false,
    message: 'A statement failed: it is undone, and all of its transaction if it was staged',
  },
  SQL_TOO_LARGE: {
    kind: 'too-large',
    retryable: false,
    message: 'The statements of the transaction, or what they answer, are over the limit',
  },
  SQL_TOO_LONG: {
    kind: 'too-large',
    retryable: false,
    message:
      'Statements took longer than they may: they are undone, and all of the transaction if they were staged',
  },
  SQL_ELSEWHERE: {
    kind: 'conflict',
    retryable: false,
    message: "The application's tables lie on another instance",
  },
  SQL_RESULTS_LOST: {
    kind: 'unavailable',
    retryable: false,
    message: 'The transaction is committed, and the results of its statements were lost with the connection',
  },
  SQL_HOLD_EXPIRED: {
    kind: 'conflict',
    retryable: true,
    message: 'The transaction held the writer for longer than it may; nothing of it is done',
  },
  SQL_HOLDS_WRITER: {
    kind: 'conflict',
    retryable: false,
    message: 'After its first query a transaction holds the writer, and this call might have to wait for it',
  },
  QUERY_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'Statements are answered at once by sessions in the process of their instance only',
  },
  OPTIONS_INVALID: { kind: 'invalid', retryable: false, message: 'An option is out of its range' },
  SESSION_BUSY: { kind: 'conflict', retryable: true, message: 'The session has a call under way' },
  SESSION_CLOSED: { kind: 'conflict', retryable: false, message: 'The session is closed' },
  RECEIPT_STALE: {
    kind: 'conflict',
    retryable: false,
    message: 'The receipt is no longer valid: its hold has ended, or the message is finished',
  },
  SUBSCRIBER_NOT_FOUND: {
    kind: 'not-found',
    retryable: false,
    message: 'The topic has no subscriber of this name',
  },
  SUBSCRIBER_EXISTS: {
    kind: 'conflict',
    retryable: false,
    message:
      'The topic has a subscriber of this name that is durable where the new one is not, or the other way round',
  },
  SUBSCRIBERS_FULL: {
    kind: 'conflict',
    retryable: false,
    message: 'The topic has 1,024 subscribers, as many as may be',
  },
  SUBSCRIBER_PENDING: {
    kind: 'unavailable',
    retryable: true,
    message:
      'An instance of the cluster has not taken the subscriber over in time; subscribing again waits for it',
  },
  WAITERS_FULL: { kind: 'unavailable', retryable: true, message: 'As many calls wait for this queue as may' },
  SESSIONS_FULL: { kind: 'unavailable', retryable: true, message: 'As many sessions are open as may be' },
  HOLDS_FULL: { kind: 'unavailable', retryable: true, message: 'As many messages are held as may be' },
  BACKLOG_FULL: { kind: 'unavailable', retryable: true, message: 'The queue holds as much as it may' },
  INSTANCE_CLOSED: { kind: 'unavailable', retryable: true, message: 'The instance is closed' },
  INSTANCE_FAILED: {
    kind: 'failed',
    retryable: true,
    message: 'The instance stopped after a storage failure; open it again to recover',
  },
  STORAGE_FULL: { kind: 'unavailable', retryable: true, message: 'The disk is full' },
  STORAGE_READ_ONLY: {
    kind: 'failed',
    retryable: false,
    message: 'The folder or a file in it cannot be written',
  },
  STORAGE_CORRUPT: { kind: 'failed', retryable: false, message: 'A file of the queue is damaged' },
  PARTITION_DAMAGED: {
    kind: 'failed',
    retryable: false,
    message: 'A partition is damaged: its shard hands out nothing more; other shards and queues are served',
  },
  COMMITS_MISSING: {
    kind: 'failed',
    retryable: false,
    message: 'Commits that were acknowledged are missing from a file; it is left as it was found',
  },
  STORAGE_FAILED: { kind: 'failed', retryable: true, message: 'A read or write of the storage failed' },
  STORAGE_FORMAT_NEWER: {
    kind: 'failed',
    retryable: false,
    message: 'The files were written by a newer version; they are left untouched',
  },
  INSTANCE_IN_USE: { kind: 'conflict', retryable: true, message: 'Another process hosts this instance' },
  INSTANCE_FENCED: {
    kind: 'failed',
    retryable: false,
    message: 'Another process took the instance over; this one must not write to it any more',
  },
  LEASE_LAPSED: {
    kind: 'unavailable',
    retryable: true,
    message: 'The lease on this instance has lapsed; nothing is handed out until it is renewed',
  },
  INSTANCE_LEAVING: {
    kind: 'conflict',
    retryable: true,
    message: 'The instance is being removed and takes no messages any more',
  },
  INSTANCE_UNREACHABLE: {
    kind: 'unavailable',
    retryable: true,
    message: 'No process serves this instance, or the connection to it was lost',
  },
  TX_NOT_COMMITTED: {
    kind: 'conflict',
    retryable: true,
    message: 'The connection was lost and the transaction was not committed; what it held went back',
  },
  COMMIT_OUTCOME_UNKNOWN: {
    kind: 'failed',
    retryable: false,
    message: 'The answer to a commit was lost, and whether it was done could not be learnt in time',
  },
  PROTOCOL_INVALID: {
    kind: 'failed',
    retryable: false,
    message: 'The other side of the connection sent what the protocol does not know',
  },
  PROTOCOL_VERSION: {
    kind: 'failed',
    retryable: false,
    message: 'The two sides of the connection speak different versions of the protocol',
  },
  INSTANCE_NOT_FOUND: {
    kind: 'not-found',
    retryable: false,
    message: 'The cluster has no instance of this number',
  },
  INSTANCE_IS_HOME: {
    kind: 'conflict',
    retryable: false,
    message: "The application's tables lie on this instance: it cannot leave the cluster",
  },
  PROCESS_NOT_RUNNING: {
    kind: 'conflict',
    retryable: false,
    message: 'The process of this instance does not run',
  },
  PROCESS_RUNNING: {
    kind: 'conflict',
    retryable: false,
    message: 'The process of this instance runs already',
  },
  SQLITE_TOO_OLD: {
    kind: 'failed',
    retryable: false,
    message: 'SQLite is older than 3.51.3, which can corrupt a log',
  },
} as const satisfies Record<string, ErrorEntry>;

export type QueueErrorCode = keyof typeof table;

/** The registry, for hosts that map errors and for the test against `docs/errors.md`. */
export const errorRegistry: Readonly<Record<QueueErrorCode, ErrorEntry>> = table;

export class QueueError extends CodedError<QueueErrorCode> {
  override readonly name = 'QueueError';
  readonly kind: ErrorKind;

  constructor(code: QueueErrorCode, facts: ErrorFacts = {}) {
    super(code, table[code], facts);
    this.kind = table[code].kind;
  }
}
