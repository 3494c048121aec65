/** Every call to the server goes through `call`: JSON in, JSON out, and errors as typed exceptions. */
import type { ErrorBody, Fault } from '@shardlab/contract';
import { serverContact } from './server-contact.ts';

/** The server answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  /** The faults of a refused request or scenario, each with the JSON pointer of its value. */
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

/** No answer arrived: the server is not running or cannot be reached. */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable';
  constructor(cause: unknown) {
    super('The server does not respond', { cause });
  }
}

const contact = serverContact.source();

/**
 * Throws `ApiError` or `ServerUnreachable`. An answer without a body resolves to undefined. `text` is a body that is JSON
 * already; `parse` is for answers that `JSON.parse` would change. After `withinMs` the server counts as unreachable: one that
 * hangs keeps its connections.
 */
export async function call<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  options: {
    body?: unknown;
    text?: string;
    signal?: AbortSignal;
    parse?: (text: string) => unknown;
    withinMs?: number;
  } = {},
): Promise<Answer> {
  const { signal, withinMs, parse = JSON.parse } = options;
  const body = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const aborts = [signal ?? [], withinMs === undefined ? [] : AbortSignal.timeout(withinMs)].flat();
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
      signal: AbortSignal.any(aborts),
    });
    text = await response.text();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    contact.missed();
    throw new ServerUnreachable(cause);
  }
  contact.heard();
  if (response.ok) return (text === '' ? undefined : parse(text)) as Answer;
  const error = new ApiError(response.status, errorBody(response, text));
  if (error.code === 'KEY_REQUIRED') openLogin();
  throw error;
}

/** The session has ended, or there was none. The login page returns to this one. */
function openLogin(): void {
  const { pathname, search } = window.location;
  if (pathname !== '/login') {
    window.location.assign(`/login?${new URLSearchParams({ next: pathname + search })}`);
  }
}

/**
 * The error of an answer. A proxy may answer with something other than our JSON; then the status line is the message.
 */
function errorBody(response: Response, text: string): ErrorBody {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody>;
    if (typeof body.code === 'string' && typeof body.message === 'string') return body as ErrorBody;
  } catch {
    // Not JSON: reported below.
  }
  const message = `The server answered ${response.status} ${response.statusText}`.trim();
  return { code: `HTTP_${response.status}`, message, retryable: response.status >= 500 };
}
