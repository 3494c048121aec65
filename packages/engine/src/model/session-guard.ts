/**
 * The rules of every session, whether its instance is in this process, behind a socket, or one of a cluster's: one call at
 * a time, no call after `close`, and `close` ends a wait for messages and an upload. A session asks its guard before each
 * call and registers the promise of an asynchronous one.
 */
import { QueueError } from '../api/errors.ts';

export class SessionGuard {
  readonly #sessionId: string;
  #call: Promise<unknown> | undefined;
  #closed = false;
  readonly #closing = new AbortController();
  /** Ends a wait for messages. Replaced once it was used. */
  #waitEnd = new AbortController();
  #waiting = false;
  /** Kept because callers pass the same signal again and again, and joining two signals costs 5 µs. */
  #joinedSignal: { waitEnd: AbortSignal; callers: AbortSignal; signal: AbortSignal } | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  get isBusy(): boolean {
    return this.#call !== undefined;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Aborted by `beginClose`, with `SESSION_CLOSED` as its reason. */
  get closingSignal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Throws `SESSION_CLOSED`. */
  assertOpen(): void {
    if (this.#closed) throw this.#refusal('SESSION_CLOSED');
  }

  /** Throws `SESSION_CLOSED`, and `SESSION_BUSY` while another call is under way. */
  assertFree(): void {
    this.assertOpen();
    if (this.#call !== undefined) throw this.#refusal('SESSION_BUSY');
  }

  #refusal(code: 'SESSION_CLOSED' | 'SESSION_BUSY'): QueueError {
    return new QueueError(code, { details: { session: this.#sessionId } });
  }

  /** Keeps the session busy until the call ends. */
  run<T>(call: Promise<T>): Promise<T> {
    this.#call = call;
    return call.then(this.#onCallDone, this.#onCallFailed) as Promise<T>;
  }

  // Created once for a session: an async function with a frame for each call made a tenth of what the calls allocate.
  readonly #onCallDone = (result: unknown): unknown => {
    this.end();
    return result;
  };

  readonly #onCallFailed = (error: unknown): never => {
    this.end();
    throw error;
  };

  /** Keeps the session busy until `end`: saves a caller that is an async function itself the promise of `run`. */
  begin(call: Promise<unknown>): void {
    this.#call = call;
  }

  end(): void {
    this.#call = undefined;
    this.#waiting = false;
  }

  /** A signal that ends the wait of the call under way: when the caller's aborts, at `stopWait` and at `beginClose`. */
  waitSignal(callers: AbortSignal | undefined): AbortSignal {
    this.#waiting = true;
    const waitEnd = this.#waitEnd.signal;
    if (callers === undefined) return waitEnd;
    if (this.#joinedSignal?.waitEnd !== waitEnd || this.#joinedSignal.callers !== callers) {
      this.#joinedSignal = { waitEnd, callers, signal: AbortSignal.any([waitEnd, callers]) };
    }
    return this.#joinedSignal.signal;
  }

  stopWait(): void {
    if (!this.#waiting) return;
    this.#waitEnd.abort();
    this.#waitEnd = new AbortController();
  }

  /** Returns false if the session was closed before. Refuses further calls, and ends a wait or an upload under way. */
  beginClose(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.stopWait();
    this.#closing.abort(this.#refusal('SESSION_CLOSED'));
    return true;
  }

  /** Resolves when no call is under way. The caller of a failed one has its error. */
  async whenIdle(): Promise<void> {
    await this.#call?.catch(() => undefined);
  }
}
