/**
 * Every error of the server's own. Codes are API: never renamed, never reused. The engine and the lab have registries
 * of their own; `docs/errors.md` lists all three and is held equal to them by a test.
 */
import type { ErrorBody } from '@shardlab/contract';
import { CodedError, type CodeEntry, type ErrorFacts } from '@shardlab/engine';

interface ErrorEntry extends CodeEntry {
  /** HTTP status; null for an error that no answer carries: it ends the process, or stands in a run. */
  status: number | null;
}

const table = {
  ROUTE_NOT_FOUND: { status: 404, retryable: false, message: 'There is nothing at this address' },
  REQUEST_INVALID: { status: 400, retryable: false, message: 'The request is malformed' },
  REQUEST_TOO_LARGE: { status: 413, retryable: false, message: 'The body of the request is over the limit' },
  HEADERS_TOO_LARGE: {
    status: 431,
    retryable: false,
    message: 'The headers of the request are over the limit',
  },
  REQUEST_TIMEOUT: { status: 408, retryable: true, message: 'The request did not arrive in time' },
  CONTENT_TYPE_UNSUPPORTED: { status: 415, retryable: false, message: 'The body must be application/json' },
  FEATURE_UNSUPPORTED: { status: 422, retryable: false, message: 'This is not supported yet' },
  HOST_REFUSED: {
    status: 403,
    retryable: false,
    message: 'The Host header names another host than this server',
  },
  ORIGIN_REFUSED: {
    status: 403,
    retryable: false,
    message: 'The request comes from a page of another origin',
  },
  KEY_REQUIRED: {
    status: 401,
    retryable: false,
    message: 'This server needs its key: send it as "Authorization: Bearer KEY"',
  },
  SCENARIO_EXISTS: { status: 409, retryable: false, message: 'A built-in scenario has this id' },
  SCENARIO_BUILT_IN: { status: 409, retryable: false, message: 'A built-in scenario cannot be deleted' },
  SCENARIOS_FULL: { status: 409, retryable: false, message: 'As many scenarios are kept as may be' },
  RUN_QUEUE_FULL: { status: 429, retryable: true, message: 'As many runs are waiting as may be' },
  RUN_ACTIVE: { status: 409, retryable: false, message: 'The run has not ended yet; cancel it first' },
  RUN_INTERRUPTED: {
    status: null,
    retryable: true,
    message: 'The server ended while the run was waiting or under way; its points until then are kept',
  },
  LOAD_RUNNING: { status: 409, retryable: true, message: 'A load runs already; there is one at a time' },
  STREAMS_FULL: { status: 429, retryable: true, message: 'As many event streams are open as may be' },
  DEQUEUES_FULL: { status: 429, retryable: true, message: 'As many dequeue calls are under way as may be' },
  DOWNLOADS_FULL: { status: 429, retryable: true, message: 'As many payloads are being sent as may be' },
  CONNECTIONS_FULL: { status: 429, retryable: true, message: 'As many connections enqueue at once as may' },
  INSTANCE_INLINE: {
    status: 409,
    retryable: false,
    message: 'The only instance lives in the server itself; from two instances on each has a process',
  },
  TOPOLOGY_CHANGING: {
    status: 503,
    retryable: true,
    message: 'The instances are moving into processes of their own',
  },
  SERVER_CLOSING: { status: 503, retryable: true, message: 'The server is shutting down' },
  DASHBOARD_NOT_BUILT: {
    status: 503,
    retryable: true,
    message:
      'The dashboard is not built: run "npm run build", or start with "npm start"; the API works without it',
  },
  INTERNAL: {
    status: 500,
    retryable: false,
    message: 'Something went wrong inside the server; its log has more',
  },
  CONFIG_INVALID: { status: null, retryable: false, message: 'A setting cannot be used' },
  HOST_NEEDS_KEY: {
    status: null,
    retryable: false,
    message:
      'HOST is not a loopback address; set SHARDLAB_KEY too, and every request must then carry that key',
  },
  ADDRESS_UNUSABLE: { status: null, retryable: true, message: 'The server cannot listen on this address' },
  DATA_DIR_UNUSABLE: { status: null, retryable: false, message: 'The data folder cannot be made or written' },
  HISTORY_FORMAT_NEWER: {
    status: null,
    retryable: false,
    message: 'The run history was written by a newer version; it is left untouched',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ServerErrorCode = keyof typeof table;

/** The registry, for the error mapper and for the test against `docs/errors.md`. */
export const serverErrorRegistry: Readonly<Record<ServerErrorCode, ErrorEntry>> = table;

export class ServerError extends CodedError<ServerErrorCode> {
  override readonly name = 'ServerError';

  constructor(code: ServerErrorCode, facts: ErrorFacts = {}) {
    super(code, table[code], facts);
  }
}

/** An error as it stands in an answer. Faults of a document or request also stand at the top, as `errors`. */
export function toBody(
  error: Omit<ErrorBody, 'details'> & { details: Readonly<Record<string, unknown>> },
): ErrorBody {
  const { code, message, retryable, details } = error;
  const errors = details.errors;
  return {
    code,
    message,
    retryable,
    ...(Object.keys(details).length > 0 ? { details: { ...details } } : {}),
    ...(Array.isArray(errors) ? { errors } : {}),
  };
}
