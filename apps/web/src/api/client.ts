/** The one door to the server: JSON in, JSON out, errors as the wire has them. */
import type { ErrorBody, Fault } from '@shardlab/contract';

/** The server answered, and refused. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  /** Faults by JSON pointer, where the request or a scenario was refused for what it holds. */
  readonly faults: readonly Fault[];

  constructor(status: number, body: ErrorBody & { errors?: Fault[] }) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.retryable = body.retryable;
    this.details = body.details ?? {};
    this.faults = body.errors ?? [];
  }
}

/** No answer came at all: the server is not running, or not reachable. */
export class ServerSilent extends Error {
  override readonly name = 'ServerSilent';
  constructor(cause: unknown) {
    super('The server does not answer', { cause });
  }
}

/** Throws `ApiError` or `ServerSilent`. An answer without a body gives undefined. */
export async function call<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  options: { body?: unknown; text?: string; signal?: AbortSignal } = {},
): Promise<Answer> {
  const { signal } = options;
  const body = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ServerSilent(cause);
  }
  const text = await response.text();
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer;
  throw new ApiError(response.status, errorBody(response, text));
}

/** A proxy in between may answer in its own words; those are shown as what they are. */
function errorBody(response: Response, text: string): ErrorBody {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody>;
    if (typeof body.code === 'string' && typeof body.message === 'string') return body as ErrorBody;
  } catch {
    // Not JSON: told below.
  }
  const message = `The server answered ${response.status} ${response.statusText}`.trim();
  return { code: `HTTP_${response.status}`, message, retryable: response.status >= 500 };
}
