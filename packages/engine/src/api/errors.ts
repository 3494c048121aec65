/**
 * Every error that the engine throws. Codes are API: never renamed, never reused. A host maps `kind` to a status of its
 * own, since the engine knows no HTTP. A test keeps `docs/errors.md` equal to this table.
 */
import { CodedError, type ErrorContext, type ErrorDefinition } from './coded-error.ts';

export type ErrorKind =
  | 'invalid'
  | 'not-found'
  | 'conflict'
  | 'too-large'
  | 'unavailable'
  | 'unsupported'
  | 'failed'
  /** A fault of the engine itself. */
  | 'bug';

interface QueueErrorDefinition extends ErrorDefinition {
  kind: ErrorKind;
}

const definitions = {
  QUEUE_NOT_FOUND: { kind: 'not-found', retryable: false, message: 'There is no queue of this name' },
  QUEUE_EXISTS: { kind: 'conflict', retryable: false, message: 'A queue of this name already exists' },
  QUEUE_SPEC_INVALID: { kind: 'invalid', retryable: false, message: 'The queue specification is invalid' },
  QUEUE_DROPPED: {
    kind: 'conflict',
    retryable: false,
    message: 'The queue was dropped during the call',
  },
  QUEUE_IN_USE: {
    kind: 'conflict',
    retryable: false,
    message: 'The queue is the exception queue of another queue',
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
      'The queue was converted to a sharded queue during the call; nothing was changed, retry to use the new queue',
  },
  QUEUE_NOT_CONVERTIBLE: {
    kind: 'conflict',
    retryable: false,
    message: 'Only an unsharded queue can be converted, and not a topic',
  },
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
    message: 'The sharded queue already exists: the conversion can only be completed',
  },
  ENQUEUE_STOPPED: { kind: 'conflict', retryable: true, message: 'The queue is stopped for enqueue' },
  DEQUEUE_STOPPED: { kind: 'conflict', retryable: true, message: 'The queue is stopped for dequeue' },
  PAYLOAD_TOO_LARGE: { kind: 'too-large', retryable: false, message: 'The payload is over the limit' },
  PAYLOAD_STREAMED: {
    kind: 'invalid',
    retryable: false,
    message: 'The payload is stored in chunks; read it with payloadStream',
  },
  PAYLOAD_INCOMPLETE: {
    kind: 'invalid',
    retryable: true,
    message: 'The payload ended early; nothing was stored',
  },
  PAYLOAD_LENGTH_WRONG: {
    kind: 'invalid',
    retryable: false,
    message: "The payload's length differs from the declared length; nothing was stored",
  },
  PAYLOAD_GONE: {
    kind: 'not-found',
    retryable: false,
    message: 'The payload no longer exists: its message was consumed, or its queue was dropped',
  },
  STREAM_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'Payloads are streamed to and from persistent sharded queues only',
  },
  UPLOADS_FULL: {
    kind: 'unavailable',
    retryable: true,
    message: 'Too many payload uploads are in progress (limit 64)',
  },
  MESSAGE_INVALID: { kind: 'invalid', retryable: false, message: 'The message cannot be stored as it is' },
  TX_TOO_LARGE: { kind: 'too-large', retryable: false, message: 'The transaction is over the limit' },
  TX_SPANS_FILES: {
    kind: 'invalid',
    retryable: false,
    message: 'A transaction cannot combine queues of different kinds: each kind has a writer of its own',
  },
  TX_SPANS_INSTANCES: {
    kind: 'invalid',
    retryable: false,
    message: 'A transaction, and the receipts of one call, must belong to one instance',
  },
  SQL_INVALID: {
    kind: 'invalid',
    retryable: false,
    message: 'The statement or its parameters are invalid',
  },
  SQL_REFUSED: {
    kind: 'unsupported',
    retryable: false,
    message: 'The statement is not allowed in a queue transaction',
  },
  SQL_FAILED: {
    kind: 'conflict',
    retryable: false,
    message: 'A statement failed and was rolled back, with its whole transaction if it was staged',
  },
  SQL_TOO_LARGE: {
    kind: 'too-large',
    retryable: false,
    message: "The transaction's statements or their results exceed the limit",
  },
  SQL_TOO_SLOW: {
    kind: 'too-large',
    retryable: false,
    message:
      'Statements exceeded the time limit and were rolled back, with the whole transaction if they were staged',
  },
  SQL_NOT_RUN: {
    kind: 'unavailable',
    retryable: true,
    message:
      'Statements of other transactions in the same group used up the time limit; nothing of this transaction was done',
  },
  SQL_LOCKED: {
    kind: 'conflict',
    retryable: true,
    message:
      'The statement writes to rows or unique values that a branch in doubt has locked; it was rolled back',
  },
  SQL_LOCK_TIMEOUT: {
    kind: 'conflict',
    retryable: true,
    message:
      'A branch in doubt kept rows locked for too long that the transaction writes to; the transaction was rolled back',
  },
  SQL_ELSEWHERE: {
    kind: 'conflict',
    retryable: false,
    message: "The application's tables are stored on another instance",
  },
  SQL_RESULTS_LOST: {
    kind: 'unavailable',
    retryable: false,
    message: 'The transaction is committed, and the results of its statements are no longer known',
  },
  SQL_HOLD_EXPIRED: {
    kind: 'conflict',
    retryable: true,
    message: 'The transaction kept the writer reserved past the time limit and was rolled back',
  },
  SQL_HOLDS_WRITER: {
    kind: 'conflict',
    retryable: false,
    message: 'The call may need the writer, which this transaction has reserved since its first query',
  },
  QUERY_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: "query is available only for sessions in the instance's own process; use execute",
  },
  OPTIONS_INVALID: { kind: 'invalid', retryable: false, message: 'An option is invalid' },
  IDEMPOTENCY_KEY_REUSED: {
    kind: 'conflict',
    retryable: false,
    message: 'A transaction with this idempotency key and different content was committed before',
  },
  IDEMPOTENCY_KEY_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'A transaction with this content cannot have an idempotency key',
  },
  SESSION_BUSY: { kind: 'conflict', retryable: true, message: 'The session already has a call in progress' },
  SESSION_CLOSED: { kind: 'conflict', retryable: false, message: 'The session is closed' },
  RECEIPT_STALE: {
    kind: 'conflict',
    retryable: false,
    message: 'The receipt is no longer valid: its hold has ended, or the message was consumed',
  },
  CONSUMER_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'Consumers with a pipeline are for sharded queues and topics only',
  },
  CONSUMER_STALLED: {
    kind: 'conflict',
    retryable: true,
    message: 'The consumer took nothing for longer than its visibility timeout; its messages are ready again',
  },
  CONSUMER_CLOSED: { kind: 'conflict', retryable: false, message: 'The consumer or producer is closed' },
  PREFETCH_ACTIVE: {
    kind: 'conflict',
    retryable: false,
    message:
      'The session has a consumer that prefetches: it can have no second one and do no work in a branch of a distributed transaction',
  },
  SUBSCRIBER_NOT_FOUND: {
    kind: 'not-found',
    retryable: false,
    message: 'The topic has no subscriber of this name',
  },
  SUBSCRIBER_EXISTS: {
    kind: 'conflict',
    retryable: false,
    message: 'The topic has a subscriber of this name with a different durability',
  },
  SUBSCRIBERS_FULL: {
    kind: 'conflict',
    retryable: false,
    message: 'Too many subscribers to the topic (limit 1,024)',
  },
  SUBSCRIBER_PENDING: {
    kind: 'unavailable',
    retryable: true,
    message:
      'An instance of the cluster has not applied the subscription in time; subscribe again to wait for it',
  },
  LISTEN_TIMEOUT: {
    kind: 'unavailable',
    retryable: true,
    message: 'No message came for any of the subscribers in time',
  },
  LATCH_TIMEOUT: {
    kind: 'failed',
    retryable: false,
    message:
      'A thread that holds a latch or mutex of the shared queue has ended or hangs; share the queue again',
  },
  WAITERS_FULL: {
    kind: 'unavailable',
    retryable: true,
    message: 'Too many calls are waiting for this queue (limit 10,000)',
  },
  SESSIONS_FULL: { kind: 'unavailable', retryable: true, message: 'Too many open sessions (limit 10,000)' },
  HOLDS_FULL: { kind: 'unavailable', retryable: true, message: 'Too many held messages (limit 1,000,000)' },
  BACKLOG_FULL: {
    kind: 'unavailable',
    retryable: true,
    message: "The queue's backlog has reached its limit",
  },
  ENQUEUE_RATE_TOO_HIGH: {
    kind: 'unavailable',
    retryable: true,
    message:
      'Messages are enqueued faster than they are consumed: the queue has messagesMax undelivered ones',
  },
  VISIBILITY_MISMATCH: {
    kind: 'invalid',
    retryable: false,
    message: 'The call does not fit the visibility of the queue',
  },
  INSTANCE_CLOSED: { kind: 'unavailable', retryable: true, message: 'The instance is closed' },
  INSTANCE_FAILED: {
    kind: 'failed',
    retryable: true,
    message: 'The instance stopped after a storage failure; open it again to recover',
  },
  INVARIANT_BROKEN: {
    kind: 'bug',
    retryable: false,
    message:
      'The engine found its own state inconsistent and stopped the instance; open it again to recover, and report the error',
  },
  STORAGE_FULL: { kind: 'unavailable', retryable: true, message: 'The disk is full' },
  LOG_FULL: {
    kind: 'unavailable',
    retryable: true,
    message:
      'The write-ahead log has reached its limit because a reader of the file keeps a transaction open; nothing was committed',
  },
  STORAGE_READ_ONLY: {
    kind: 'failed',
    retryable: false,
    message: 'The folder or a file in it cannot be written',
  },
  STORAGE_CORRUPT: { kind: 'failed', retryable: false, message: 'A file of the queue is damaged' },
  PARTITION_DAMAGED: {
    kind: 'failed',
    retryable: false,
    message:
      'A partition is damaged: its shard delivers nothing past the damage; other shards and queues are not affected',
  },
  COMMITS_MISSING: {
    kind: 'failed',
    retryable: false,
    message: 'Acknowledged commits are missing from a file; the file was not changed',
  },
  STORAGE_FAILED: { kind: 'failed', retryable: true, message: 'A read or write of the storage failed' },
  STORAGE_FORMAT_OLDER: {
    kind: 'failed',
    retryable: false,
    message: 'The files were written by an earlier development version; they are left untouched',
  },
  STORAGE_FORMAT_NEWER: {
    kind: 'failed',
    retryable: false,
    message: 'The files were written by a newer version; they are left untouched',
  },
  INSTANCE_IN_USE: { kind: 'conflict', retryable: true, message: 'Another process hosts this instance' },
  INSTANCE_FENCED: {
    kind: 'failed',
    retryable: false,
    message: 'Another process has taken over the instance; this process can no longer write to it',
  },
  LEASE_LAPSED: {
    kind: 'unavailable',
    retryable: true,
    message: 'The lease on this instance has lapsed; nothing is delivered until it is renewed',
  },
  INSTANCE_LEAVING: {
    kind: 'conflict',
    retryable: true,
    message: 'The instance is being removed from the cluster and accepts no new messages',
  },
  INSTANCE_UNREACHABLE: {
    kind: 'unavailable',
    retryable: true,
    message: 'No process serves this instance, or the connection to it was lost',
  },
  TX_NOT_COMMITTED: {
    kind: 'conflict',
    retryable: true,
    message: 'The connection was lost and the transaction was rolled back; its held messages are ready again',
  },
  COMMIT_OUTCOME_UNKNOWN: {
    kind: 'failed',
    retryable: false,
    message: 'The answer to a commit was lost, and its outcome could not be determined in time',
  },
  PROTOCOL_INVALID: {
    kind: 'failed',
    retryable: false,
    message: 'The peer sent an invalid protocol frame',
  },
  PROTOCOL_VERSION: {
    kind: 'failed',
    retryable: false,
    message: 'The peers use different protocol versions',
  },
  XA_RBROLLBACK: {
    kind: 'conflict',
    retryable: true,
    message: 'The branch was ended with failure: it can only be rolled back',
  },
  XA_RBCOMMFAIL: {
    kind: 'conflict',
    retryable: true,
    message:
      'The connection or the home instance of the branch was lost while the branch was active, and the branch was rolled back',
  },
  XA_RBDEADLOCK: {
    kind: 'conflict',
    retryable: true,
    message: 'The branch needs a lock of another transaction that may be waiting for it, and was rolled back',
  },
  XA_RBINTEGRITY: {
    kind: 'conflict',
    retryable: false,
    message: 'A statement of the branch violates a constraint, and the branch was rolled back',
  },
  XA_RBOTHER: {
    kind: 'conflict',
    retryable: false,
    message: 'The branch could not be prepared or committed and was rolled back',
  },
  XA_RBTIMEOUT: {
    kind: 'conflict',
    retryable: true,
    message:
      'The branch was not prepared within its time, or waited too long for a lock, and was rolled back',
  },
  XA_RETRY: {
    kind: 'unavailable',
    retryable: true,
    message: 'The prepared branch could not be committed now and stays prepared',
  },
  XAER_RMERR: {
    kind: 'failed',
    retryable: false,
    message: 'The instance cannot take the branch',
  },
  XAER_NOTA: { kind: 'not-found', retryable: false, message: 'There is no branch of this xid' },
  XAER_INVAL: { kind: 'invalid', retryable: false, message: 'The xid or an option of the call is invalid' },
  XAER_PROTO: {
    kind: 'conflict',
    retryable: false,
    message: 'The call is not allowed in the present state of the branch or the session',
  },
  XAER_RMFAIL: {
    kind: 'unavailable',
    retryable: true,
    message: 'The instance is not available, or ended during the call',
  },
  XAER_DUPID: { kind: 'conflict', retryable: false, message: 'There is a branch of this xid already' },
  XAER_OUTSIDE: {
    kind: 'conflict',
    retryable: false,
    message:
      'The session has work of a local transaction: it must commit or roll back before it starts a branch',
  },
  XA_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'A branch with this content cannot be prepared',
  },
  SERVICE_NOT_FOUND: { kind: 'not-found', retryable: false, message: 'There is no service of this name' },
  SERVICE_SPEC_INVALID: {
    kind: 'invalid',
    retryable: false,
    message: 'The definition of a service is invalid',
  },
  SERVICE_NOT_ACTIVE: {
    kind: 'unavailable',
    retryable: true,
    message: 'The service is not active at the moment; the call was not begun',
  },
  SERVICE_BUSY: {
    kind: 'unavailable',
    retryable: true,
    message: 'Too many calls wait for the service; the call was not begun',
  },
  SERVICE_CALL_NOT_FOUND: { kind: 'not-found', retryable: false, message: 'The service has no such call' },
  SERVICE_CALL_INVALID: {
    kind: 'invalid',
    retryable: false,
    message: 'The argument of the call is not JSON, or is too large',
  },
  SERVICE_CALL_FAILED: { kind: 'failed', retryable: false, message: 'The service failed to answer the call' },
  SERVICE_CALL_UNKNOWN: {
    kind: 'unavailable',
    retryable: false,
    message: 'The answer of the service was lost: the call may have taken effect',
  },
  SERVICE_FAILED: { kind: 'failed', retryable: true, message: 'The service could not be activated' },
  SERVICE_STATE_TOO_LARGE: {
    kind: 'too-large',
    retryable: false,
    message: 'The state of the service exceeds the limit',
  },
  INSTANCE_NOT_FOUND: {
    kind: 'not-found',
    retryable: false,
    message: 'The cluster has no instance of this number',
  },
  INSTANCE_IS_HOME: {
    kind: 'conflict',
    retryable: false,
    message:
      "The application's tables, the idempotency keys or a service's state are stored on this instance, so it cannot leave the cluster",
  },
  PROCESS_NOT_RUNNING: {
    kind: 'conflict',
    retryable: false,
    message: "The instance's process is not running",
  },
  PROCESS_RUNNING: {
    kind: 'conflict',
    retryable: false,
    message: "The instance's process is already running",
  },
  PROCESS_RESTARTS_EXHAUSTED: {
    kind: 'failed',
    retryable: false,
    message: 'The processes of the instance keep ending, and no other process can host it',
  },
  CLUSTER_DEPOSED: {
    kind: 'failed',
    retryable: false,
    message: 'Another process runs the cluster of this folder',
  },
  WRITER_SILENT: {
    kind: 'unavailable',
    retryable: true,
    message: "The instance's writer thread has work and does not answer",
  },
  PROBE_TIMEOUT: {
    kind: 'unavailable',
    retryable: true,
    message: 'The instance did not commit a probe in time',
  },
  FEATURE_UNSUPPORTED: {
    kind: 'unsupported',
    retryable: false,
    message: 'This is not supported here; nothing was done',
  },
  STORE_NOT_INSTALLED: {
    kind: 'failed',
    retryable: false,
    message: 'The package of the store is not installed',
  },
  STORE_UNAUTHORIZED: {
    kind: 'failed',
    retryable: false,
    message: 'The servers of the store refused the credentials or the right to do this',
  },
  STORE_TOO_OLD: {
    kind: 'failed',
    retryable: false,
    message: 'The servers of the store are older than the store needs',
  },
  STREAM_FOREIGN: {
    kind: 'conflict',
    retryable: false,
    message:
      'A stream that this store did not create has the name or the subjects of the queue; it was not changed',
  },
  REPLICAS_UNAVAILABLE: {
    kind: 'unavailable',
    retryable: true,
    message: 'The cluster has too few servers for the replicas of the queue',
  },
  SQLITE_TOO_OLD: {
    kind: 'failed',
    retryable: false,
    message: 'SQLite is older than 3.51.3, which can corrupt a log',
  },
} as const satisfies Record<string, QueueErrorDefinition>;

export type QueueErrorCode = keyof typeof definitions;

/** The registry, for hosts that map errors and for the test against `docs/errors.md`. */
export const errorRegistry: Readonly<Record<QueueErrorCode, QueueErrorDefinition>> = definitions;

export class QueueError extends CodedError<QueueErrorCode> {
  override readonly name = 'QueueError';
  readonly kind: ErrorKind;

  constructor(code: QueueErrorCode, context: ErrorContext = {}) {
    super(code, definitions[code], context);
    this.kind = definitions[code].kind;
  }
}
