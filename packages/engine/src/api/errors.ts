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
  QUEUE_NOT_FOUND: final('not-found', 'There is no queue of this name'),
  QUEUE_EXISTS: final('conflict', 'A queue of this name already exists'),
  QUEUE_SPEC_INVALID: final('invalid', 'The queue specification is invalid'),
  QUEUE_DROPPED: final('conflict', 'The queue was dropped during the call'),
  QUEUE_SETTINGS_DIFFER: final('conflict', 'The queue exists with other settings'),
  QUEUE_IN_USE: final('conflict', 'The queue is the exception queue of another queue'),
  EXCEPTION_QUEUE_NOT_EMPTY: final(
    'conflict',
    'The exception queue of the queue has messages, or may have; nothing was dropped',
  ),
  QUEUE_CONVERTING: retryable('conflict', 'The queue is being converted to a sharded one'),
  QUEUE_CONVERTED: retryable(
    'conflict',
    'The queue was converted to a sharded queue during the call; nothing was changed, retry to use the new queue',
  ),
  QUEUE_NOT_CONVERTIBLE: final('conflict', 'Only an unsharded queue can be converted, and not a topic'),
  QUEUE_NOT_DRAINED: retryable('conflict', 'The queue that is being converted still holds messages'),
  CONVERSION_NOT_FOUND: final('not-found', 'The queue is not being converted'),
  CONVERSION_PAST_CANCEL: final(
    'conflict',
    'The sharded queue already exists: the conversion can only be completed',
  ),
  ENQUEUE_STOPPED: retryable('conflict', 'The queue is stopped for enqueue'),
  DEQUEUE_STOPPED: retryable('conflict', 'The queue is stopped for dequeue'),
  PAYLOAD_TOO_LARGE: final('too-large', 'The payload is over the limit'),
  PAYLOAD_STREAMED: final('invalid', 'The payload is stored in chunks; read it with payloadStream'),
  PAYLOAD_INCOMPLETE: retryable('invalid', 'The payload ended early; nothing was stored'),
  PAYLOAD_LENGTH_WRONG: final(
    'invalid',
    "The payload's length differs from the declared length; nothing was stored",
  ),
  PAYLOAD_GONE: final(
    'not-found',
    'The payload no longer exists: its message was consumed, or its queue was dropped',
  ),
  STREAM_UNSUPPORTED: final(
    'unsupported',
    'Payloads are streamed to and from persistent sharded queues only',
  ),
  UPLOADS_FULL: retryable('unavailable', 'Too many payload uploads are in progress (limit 64)'),
  MESSAGE_INVALID: final('invalid', 'The message cannot be stored as it is'),
  TX_TOO_LARGE: final('too-large', 'The transaction is over the limit'),
  TX_SPANS_FILES: final(
    'invalid',
    'A transaction cannot combine queues of different kinds: each kind has a writer of its own',
  ),
  TX_SPANS_INSTANCES: final(
    'invalid',
    'A transaction, and the receipts of one call, must belong to one instance',
  ),
  SQL_INVALID: final('invalid', 'The statement or its parameters are invalid'),
  SQL_REFUSED: final('unsupported', 'The statement is not allowed in a queue transaction'),
  SQL_FAILED: final(
    'conflict',
    'A statement failed and was rolled back, with its whole transaction if it was staged',
  ),
  SQL_TOO_LARGE: final('too-large', "The transaction's statements or their results exceed the limit"),
  SQL_TOO_SLOW: final(
    'too-large',
    'Statements exceeded the time limit and were rolled back, with the whole transaction if they were staged',
  ),
  SQL_NOT_RUN: retryable(
    'unavailable',
    'Statements of other transactions in the same group used up the time limit; nothing of this transaction was done',
  ),
  SQL_LOCKED: retryable(
    'conflict',
    'The statement writes to rows or unique values that a branch in doubt has locked; it was rolled back',
  ),
  SQL_LOCK_TIMEOUT: retryable(
    'conflict',
    'A branch in doubt kept rows locked for too long that the transaction writes to; the transaction was rolled back',
  ),
  SQL_ELSEWHERE: final('conflict', "The application's tables are stored on another instance"),
  SQL_RESULTS_LOST: final(
    'unavailable',
    'The transaction is committed, and the results of its statements are no longer known',
  ),
  WRITER_RESERVATION_EXPIRED: retryable(
    'conflict',
    'The transaction kept the writer reserved past the time limit and was rolled back',
  ),
  WRITER_RESERVED: final(
    'conflict',
    'The call may need the writer, which this transaction has reserved since its first query',
  ),
  QUERY_UNSUPPORTED: final(
    'unsupported',
    "query is available only for sessions in the instance's own process; use execute",
  ),
  OPTIONS_INVALID: final('invalid', 'An option is invalid'),
  IDEMPOTENCY_KEY_REUSED: final(
    'conflict',
    'A transaction with this idempotency key and different content was committed before',
  ),
  IDEMPOTENCY_KEY_UNSUPPORTED: final(
    'unsupported',
    'A transaction with this content cannot have an idempotency key',
  ),
  SESSION_BUSY: retryable('conflict', 'The session already has a call in progress'),
  SESSION_CLOSED: final('conflict', 'The session is closed'),
  RECEIPT_STALE: final(
    'conflict',
    'The receipt is no longer valid: its hold has ended, or the message was consumed',
  ),
  CONSUMER_UNSUPPORTED: final(
    'unsupported',
    'Consumers with a pipeline are for sharded queues and topics only',
  ),
  CONSUMER_STALLED: retryable(
    'conflict',
    'The consumer took nothing for longer than its visibility timeout; its messages are ready again',
  ),
  CONSUMER_CLOSED: final('conflict', 'The consumer or producer is closed'),
  CONSUMERS_FULL: final('conflict', 'Too many open consumers of the session (limit 64)'),
  PRODUCERS_FULL: final('conflict', 'Too many open producers of the session (limit 1,024)'),
  PREFETCH_ACTIVE: final(
    'conflict',
    'The session has a consumer that prefetches: it can have no second one and do no work in a branch of a distributed transaction',
  ),
  SUBSCRIBER_NOT_FOUND: final('not-found', 'The topic has no subscriber of this name'),
  SUBSCRIBER_EXISTS: final('conflict', 'The topic has a subscriber of this name with a different durability'),
  SUBSCRIBERS_FULL: final('conflict', 'Too many subscribers to the topic (limit 1,024)'),
  SUBSCRIBER_PENDING: retryable(
    'unavailable',
    'An instance of the cluster has not applied the subscription in time; subscribe again to wait for it',
  ),
  LISTEN_TIMEOUT: retryable('unavailable', 'No message came for any of the subscribers in time'),
  LATCH_TIMEOUT: final(
    'failed',
    'A thread that holds a latch or mutex of the shared queue has ended or hangs; share the queue again',
  ),
  WAITERS_FULL: retryable('unavailable', 'Too many calls are waiting for this queue (limit 10,000)'),
  SESSIONS_FULL: retryable('unavailable', 'Too many open sessions (limit 10,000)'),
  INSTANCE_CONNECTIONS_FULL: retryable('unavailable', 'Too many connections to the instance (limit 1,024)'),
  HOLDS_FULL: retryable('unavailable', 'Too many held messages (limit 1,000,000)'),
  BACKLOG_FULL: retryable('unavailable', "The queue's backlog has reached its limit"),
  ENQUEUE_RATE_TOO_HIGH: retryable(
    'unavailable',
    'Messages are enqueued faster than they are consumed: the queue has messagesMax undelivered ones',
  ),
  VISIBILITY_MISMATCH: final('invalid', 'The call does not fit the visibility of the queue'),
  INSTANCE_CLOSED: retryable('unavailable', 'The instance is closed'),
  INSTANCE_FAILED: retryable(
    'failed',
    'The instance stopped after a storage failure; open it again to recover',
  ),
  INVARIANT_BROKEN: final(
    'bug',
    'The engine found its own state inconsistent and stopped the instance; open it again to recover, and report the error',
  ),
  STORAGE_FULL: retryable('unavailable', 'The disk is full'),
  LOG_FULL: retryable(
    'unavailable',
    'The write-ahead log has reached its limit because a reader of the file keeps a transaction open; nothing was committed',
  ),
  STORAGE_READ_ONLY: final('failed', 'The folder or a file in it cannot be written'),
  STORAGE_REPLACED: final(
    'unavailable',
    'A file of the instance was deleted or replaced while it was in use',
  ),
  STORAGE_CORRUPT: final('failed', 'A file of the queue is damaged'),
  PARTITION_DAMAGED: final(
    'failed',
    'A partition is damaged: its shard delivers nothing past the damage; other shards and queues are not affected',
  ),
  COMMITS_MISSING: final('failed', 'Acknowledged commits are missing from a file; the file was not changed'),
  STORAGE_FAILED: retryable('failed', 'A read or write of the storage failed'),
  STORAGE_FORMAT_OLDER: final(
    'failed',
    'The files were written by an earlier development version; they are left untouched',
  ),
  STORAGE_FORMAT_NEWER: final('failed', 'The files were written by a newer version; they are left untouched'),
  INSTANCE_IN_USE: retryable('conflict', 'Another process hosts this instance'),
  INSTANCE_FENCED: final(
    'failed',
    'Another process has taken over the instance; this process can no longer write to it',
  ),
  LEASE_LAPSED: retryable(
    'unavailable',
    'The lease on this instance has lapsed; nothing is delivered until it is renewed',
  ),
  INSTANCE_LEAVING: retryable(
    'conflict',
    'The instance is being removed from the cluster and accepts no new messages',
  ),
  INSTANCE_UNREACHABLE: retryable(
    'unavailable',
    'No process serves this instance, or the connection to it was lost',
  ),
  TX_NOT_COMMITTED: retryable(
    'conflict',
    'The connection was lost and the transaction was rolled back; its held messages are ready again',
  ),
  COMMIT_OUTCOME_UNKNOWN: final(
    'failed',
    'The answer to a commit was lost, and its outcome could not be determined in time',
  ),
  PROTOCOL_INVALID: final('failed', 'The peer sent an invalid protocol frame'),
  PROTOCOL_VERSION: final('failed', 'The peers use different protocol versions'),
  XA_RBROLLBACK: retryable('conflict', 'The branch was ended with failure: it can only be rolled back'),
  XA_RBCOMMFAIL: retryable(
    'conflict',
    'The connection or the home instance of the branch was lost while the branch was active, and the branch was rolled back',
  ),
  XA_RBDEADLOCK: retryable(
    'conflict',
    'The branch needs a lock of another transaction that may be waiting for it, and was rolled back',
  ),
  XA_RBINTEGRITY: final(
    'conflict',
    'A statement of the branch violates a constraint, and the branch was rolled back',
  ),
  XA_RBOTHER: final('conflict', 'The branch could not be prepared or committed and was rolled back'),
  XA_RBTIMEOUT: retryable(
    'conflict',
    'The branch was not prepared within its time, or waited too long for a lock, and was rolled back',
  ),
  XA_RETRY: retryable('unavailable', 'The prepared branch could not be committed now and stays prepared'),
  XAER_RMERR: final('failed', 'The instance cannot take the branch'),
  XAER_NOTA: final('not-found', 'There is no branch of this xid'),
  XAER_INVAL: final('invalid', 'The xid or an option of the call is invalid'),
  XAER_PROTO: final('conflict', 'The call is not allowed in the present state of the branch or the session'),
  XAER_RMFAIL: retryable('unavailable', 'The instance is not available, or ended during the call'),
  XAER_DUPID: final('conflict', 'There is a branch of this xid already'),
  XAER_OUTSIDE: final(
    'conflict',
    'The session has work of a local transaction: it must commit or roll back before it starts a branch',
  ),
  XA_UNSUPPORTED: final('unsupported', 'A branch with this content cannot be prepared'),
  SERVICE_NOT_FOUND: final('not-found', 'There is no service of this name'),
  SERVICE_SPEC_INVALID: final('invalid', 'The definition of a service is invalid'),
  SERVICE_NOT_ACTIVE: retryable(
    'unavailable',
    'The service is not active at the moment; the call was not begun',
  ),
  SERVICE_BUSY: retryable('unavailable', 'Too many calls wait for the service; the call was not begun'),
  SERVICE_CALL_NOT_FOUND: final('not-found', 'The service has no such call'),
  SERVICE_CALL_INVALID: final('invalid', 'The argument of the call is not JSON, or is too large'),
  SERVICE_CALL_FAILED: final('failed', 'The service failed to answer the call'),
  SERVICE_CALL_UNKNOWN: final(
    'unavailable',
    'The answer of the service was lost: the call may have taken effect',
  ),
  SERVICE_FAILED: retryable('failed', 'The service could not be activated'),
  SERVICE_STATE_TOO_LARGE: final('too-large', 'The state of the service exceeds the limit'),
  INSTANCE_NOT_FOUND: final('not-found', 'The cluster has no instance of this number'),
  INSTANCE_IS_HOME: final(
    'conflict',
    "The application's tables, the idempotency keys or a service's state are stored on this instance, so it cannot leave the cluster",
  ),
  PROCESS_NOT_RUNNING: final('conflict', "The instance's process is not running"),
  PROCESS_RUNNING: final('conflict', "The instance's process is already running"),
  PROCESS_SLOW: retryable(
    'unavailable',
    "The event loop of the instance's process has made no turn for over a second",
  ),
  PROCESS_RESTARTS_EXHAUSTED: final(
    'failed',
    'The processes of the instance keep ending, and no other process can host it',
  ),
  CLUSTER_DEPOSED: final('failed', 'Another process runs the cluster of this folder'),
  WRITER_SILENT: retryable('unavailable', "The instance's writer thread has work and does not answer"),
  PROBE_TIMEOUT: retryable('unavailable', 'The instance did not commit a probe in time'),
  FEATURE_UNSUPPORTED: final('unsupported', 'This is not supported here; nothing was done'),
  STORE_NOT_INSTALLED: final('failed', 'The package of the store is not installed'),
  STORE_UNAUTHORIZED: final(
    'failed',
    'The servers of the store refused the credentials or the right to do this',
  ),
  STORE_TOO_OLD: final('failed', 'The servers of the store are older than the store needs'),
  STREAM_FOREIGN: final(
    'conflict',
    'A stream that this store did not create has the name or the subjects of the queue; it was not changed',
  ),
  REPLICAS_UNAVAILABLE: retryable(
    'unavailable',
    'The cluster has too few servers for the replicas of the queue',
  ),
  NODE_UNSUPPORTED: final('unsupported', 'This version of Node lacks what the engine needs'),
  PROGRAMS_NOT_FOUND: final(
    'failed',
    'The files of the engine that run as threads and processes were not found',
  ),
  SQLITE_TOO_OLD: final('failed', 'SQLite is older than 3.51.3, which can corrupt a log'),
} satisfies Record<string, QueueErrorDefinition>;

export type QueueErrorCode = keyof typeof definitions;

/** The same call may succeed later. */
function retryable(kind: ErrorKind, message: string): QueueErrorDefinition {
  return { kind, retryable: true, message };
}

/** The same call fails again until something else is changed. */
function final(kind: ErrorKind, message: string): QueueErrorDefinition {
  return { kind, retryable: false, message };
}

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
