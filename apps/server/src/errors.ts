/**
 * The server's own errors. Codes are API: they are never renamed or reused. Engine and lab have their own registries;
 * `docs/errors.md` lists all three, and a test compares it with them.
 */
import type { ErrorBody } from '@shardlab/contract';
import { CodedError, type ErrorContext, type ErrorDefinition } from '@shardlab/engine';
import { limits } from './limits.ts';

interface ErrorEntry extends ErrorDefinition {
  /** HTTP status; null if no response carries the error: it ends the process, or is the `error` of a run. */
  status: number | null;
}

const limitOf = (count: number) => `(limit ${count.toLocaleString('en-US')})`;

const table = {
  ROUTE_NOT_FOUND: { status: 404, retryable: false, message: 'There is nothing at this address' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    retryable: false,
    message: 'This address has other methods, which the Allow header lists',
  },
  REQUEST_INVALID: { status: 400, retryable: false, message: 'The request is malformed' },
  REDRIVE_REFUSED: {
    status: 422,
    retryable: false,
    message: 'The messages of this queue cannot be moved there',
  },
  REQUEST_TOO_LARGE: {
    status: 413,
    retryable: false,
    message: 'The request body exceeds the limit; send a large payload as a stream',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    retryable: false,
    message: 'The request headers exceed the limit',
  },
  REQUEST_TIMEOUT: { status: 408, retryable: true, message: 'The request did not arrive in time' },
  REQUEST_TOO_SLOW: { status: 408, retryable: true, message: 'The request body arrives too slowly' },
  CONTENT_TYPE_UNSUPPORTED: {
    status: 415,
    retryable: false,
    message: 'The body must be application/json in UTF-8',
  },
  CONTENT_ENCODING_UNSUPPORTED: {
    status: 415,
    retryable: false,
    message: 'The body is encoded (Content-Encoding); it must be sent as it is',
  },
  HOST_REFUSED: {
    status: 403,
    retryable: false,
    message: 'The Host header does not name this server',
  },
  ORIGIN_REFUSED: {
    status: 403,
    retryable: false,
    message: 'The request comes from a web page of another origin',
  },
  KEY_REQUIRED: {
    status: 401,
    retryable: false,
    message: 'This server requires a key: send it as "Authorization: Bearer KEY", or log in at /login',
  },
  KEY_WRONG: { status: 401, retryable: false, message: 'The key is wrong' },
  KEY_GUESSES_SLOWED: {
    status: 429,
    retryable: true,
    message: 'Too many wrong keys from this address; the right one is accepted at any time',
  },
  SCENARIO_EXISTS: { status: 409, retryable: false, message: 'A built-in scenario has this id' },
  SCENARIO_BUILT_IN: { status: 409, retryable: false, message: 'A built-in scenario cannot be deleted' },
  SCENARIOS_FULL: {
    status: 409,
    retryable: false,
    message: `Too many uploaded scenarios ${limitOf(limits.scenariosMax)}`,
  },
  RUN_QUEUE_FULL: {
    status: 429,
    retryable: true,
    message: `Too many runs are waiting ${limitOf(limits.runsWaitingMax)}`,
  },
  RUN_RECORDED: {
    status: 409,
    retryable: false,
    message: 'The run comes with the lab and cannot be deleted',
  },
  RUN_ACTIVE: { status: 409, retryable: false, message: 'The run has not ended yet; cancel it first' },
  RUN_INTERRUPTED: {
    status: null,
    retryable: true,
    message: 'The server ended before the run was finished; the points measured until then are kept',
  },
  RUN_NOT_RESUMABLE: {
    status: 409,
    retryable: false,
    message: 'The run cannot be resumed: it was not interrupted, or the code that measures has changed since',
  },
  RUN_DAMAGED: {
    status: 500,
    retryable: false,
    message: 'The stored run cannot be read; it can be deleted',
  },
  LOAD_RUNNING: {
    status: 409,
    retryable: true,
    message: 'A load is already running; only one can run at a time',
  },
  CALIBRATION_RUNNING: {
    status: 409,
    retryable: true,
    message: 'A calibration is under way; only one can run at a time',
  },
  STREAMS_FULL: {
    status: 429,
    retryable: true,
    message: `Too many open event streams ${limitOf(limits.streamsMax)}`,
  },
  DEQUEUES_FULL: {
    status: 429,
    retryable: true,
    message: `Too many concurrent dequeue calls ${limitOf(limits.dequeuesMax)}`,
  },
  DOWNLOADS_FULL: {
    status: 429,
    retryable: true,
    message: `Too many concurrent payload downloads ${limitOf(limits.downloadsMax)}`,
  },
  BODIES_FULL: {
    status: 429,
    retryable: true,
    message: 'Too many bytes of request bodies are in memory (limit 32 MiB)',
  },
  ANSWERS_FULL: {
    status: 429,
    retryable: true,
    message: 'Too many bytes of answers have not been read by their clients (limit 256 MiB)',
  },
  CONNECTIONS_FULL: {
    status: 429,
    retryable: true,
    message: `Too many connections are enqueuing at the same time ${limitOf(limits.sessionsMax)}`,
  },
  INSTANCE_IN_SERVER: {
    status: 409,
    retryable: false,
    message: 'The only instance runs inside the server; with two or more, each has a process of its own',
  },
  TOPOLOGY_CHANGING: {
    status: 503,
    retryable: true,
    message: 'The instances are being moved to processes of their own',
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
    message: 'The server failed to handle the request; its log has the details',
  },
  CONFIG_INVALID: { status: null, retryable: false, message: 'A setting is invalid' },
  HOST_NEEDS_KEY: {
    status: null,
    retryable: false,
    message:
      'HOST is not a loopback address; set SHARDLAB_KEY as well: every request must then carry that key',
  },
  ADDRESS_UNUSABLE: { status: null, retryable: true, message: 'The server cannot listen on this address' },
  DATA_DIR_UNUSABLE: {
    status: null,
    retryable: false,
    message: 'The data folder cannot be created or written',
  },
  HISTORY_FORMAT_NEWER: {
    status: null,
    retryable: false,
    message: 'The run history was written by a newer version; it is left untouched',
  },
  HISTORY_FORMAT_OLDER: {
    status: null,
    retryable: false,
    message: 'The run history was written by an older version that cannot be read; it is left untouched',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ServerErrorCode = keyof typeof table;

/** The registry, for the error mapper and for the test against `docs/errors.md`. */
export const serverErrorRegistry: Readonly<Record<ServerErrorCode, ErrorEntry>> = table;

export class ServerError extends CodedError<ServerErrorCode> {
  override readonly name = 'ServerError';

  constructor(code: ServerErrorCode, context: ErrorContext = {}) {
    super(code, table[code], context);
  }
}

/** An error as a response body. Faults of a document or request are also given at the top level, as `errors`. */
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
