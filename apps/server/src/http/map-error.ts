/** Maps every error to a response; no other file does. */
import type { ErrorBody } from '@shardlab/contract';
import { CodedError, type ErrorKind, QueueError } from '@shardlab/engine';
import { LabError } from '@shardlab/lab';
import { ServerError, serverErrorRegistry, toBody } from '../errors.ts';
import { toStorageError } from '../store/storage-errors.ts';

export const statusOfKind: Readonly<Record<ErrorKind, number>> = {
  // Bodies and queries fit the description of the API before the engine sees them: what it refuses breaks another rule.
  invalid: 422,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  unavailable: 503,
  unsupported: 422,
  failed: 500,
  bug: 500,
};

const statusOfCode: Readonly<Record<string, number>> = {
  // 422 and not 409: no change of state makes the request succeed, since its key belongs to a different request for good.
  IDEMPOTENCY_KEY_REUSED: 422,
  // The request is not at fault: nothing is served until the instance is opened again.
  INSTANCE_FAILED: 503,
  // The service's own code refused it; the server is well.
  SERVICE_CALL_FAILED: 422,
  // The server is well; this client is too fast. Retry-After has the hint.
  ENQUEUE_RATE_TOO_HIGH: 429,
};

/** The HTTP status for an error of the engine or the lab. */
export function statusOf(code: string, kind: ErrorKind): number {
  return statusOfCode[code] ?? statusOfKind[kind];
}

export interface MappedError {
  status: number;
  body: ErrorBody;
  /** The server itself is at fault, so the error must be logged. */
  unexpected: boolean;
}

export function mapError(error: unknown): MappedError {
  const known = fromFastify(error) ?? toStorageError(error) ?? error;
  if (known instanceof ServerError) {
    const status = serverErrorRegistry[known.code].status ?? 500;
    return { status, body: toBody(known), unexpected: status === 500 };
  }
  if (known instanceof QueueError || known instanceof LabError) {
    const status = statusOf(known.code, known.kind);
    return { status, body: toBody(known), unexpected: status === 500 };
  }
  return { status: 500, body: toBody(new ServerError('INTERNAL')), unexpected: true };
}

/** Fastify's own errors as `ServerError`; undefined for everything else. */
function fromFastify(error: unknown): ServerError | undefined {
  // Fastify adds a `statusCode` to the errors that our validation throws, but they are not Fastify's own.
  if (!(error instanceof Error) || error instanceof CodedError) return undefined;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServerError('REQUEST_TOO_LARGE', { cause: error });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServerError('CONTENT_TYPE_UNSUPPORTED', { cause: error });
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return invalid('The body is empty; JSON is required', error);
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return invalid('The body is not JSON', error);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid('The length of the body differs from the Content-Length header', error);
    case 'FST_ERR_BAD_URL':
      return invalid('The URL path is not valid', error);
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return statusCode === 404
      ? new ServerError('ROUTE_NOT_FOUND', { cause: error })
      : invalid(serverErrorRegistry.REQUEST_INVALID.message, error);
  }
  return undefined;
}

function invalid(sentence: string, cause: Error): ServerError {
  return new ServerError('REQUEST_INVALID', {
    message: sentence,
    details: { errors: [{ path: '', message: sentence }] },
    cause,
  });
}
