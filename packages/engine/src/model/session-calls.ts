/**
 * The rules for calls of a session, the same for embedded, remote and cluster sessions: when a call is allowed (`SessionGuard`),
 * which parameters are valid, and what a commit returns.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { NewMessage, StreamedMessage } from '../api/message.ts';
import type { Visibility } from '../api/queue-settings.ts';
import type { CommitOptions, CommitResult, DequeueOptions } from '../api/session.ts';
import type { SqlResult } from '../api/sql.ts';
import { assertFields, type Fields } from './call-arguments.ts';
import { commitFields, dequeueFields, messageFields, streamedMessageFields } from './call-fields.ts';
import { type IdRun, messageIdsOf } from './id-runs.ts';
import { priorityMax } from './log-id.ts';
import { type RecordContent, recordByteLength } from './message-record.ts';
import type { QueueRow } from './queue-row.ts';
import { subscriberNameFault } from './subscriber-name.ts';

/** Properties of a host, such as the server's content type. They do not count towards the bounds of a message. */
const reservedPropertyPrefix = 'shardlab-';

/**
 * One call at a time, no call after `close`, and `close` ends a wait for messages and an upload. A session asks its guard
 * before each call and registers the promise of an asynchronous one.
 */
export class SessionGuard {
  readonly #sessionId: string | number;
  #call: Promise<unknown> | undefined;
  #closed = false;
  /** Made for the first that asks: most sessions close without a call under way. */
  #closing: AbortController | undefined;
  /** Ends a wait for messages. Replaced once it was used. */
  #waitEnd = new AbortController();
  #waiting = false;
  #calls = 0;
  /** Kept because callers pass the same signal again and again, and joining two signals costs 5 µs. */
  #joinedSignal: { waitEnd: AbortSignal; callers: AbortSignal; signal: AbortSignal } | undefined;

  constructor(sessionId: string | number) {
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
    if (this.#closing === undefined) {
      this.#closing = new AbortController();
      if (this.#closed) this.#closing.abort(this.#refusal('SESSION_CLOSED'));
    }
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

  /** Calls for which a remote session sends a request, of an embedded one. */
  get calls(): number {
    return this.#calls;
  }

  countCall(): void {
    this.#calls += 1;
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
    this.#closing?.abort(this.#refusal('SESSION_CLOSED'));
    return true;
  }

  /** Resolves when no call is under way. The caller of a failed one has its error. */
  async whenIdle(): Promise<void> {
    await this.#call?.catch(() => undefined);
  }
}

/**
 * Throws `MESSAGE_INVALID` for what has a field that no message has; the rest is checked when it is encoded. A message that was
 * received is none either: its id, receipt and times would be dropped silently.
 */
export function assertNewMessage(message: NewMessage): void {
  assertFields(message, messageFields);
}

/**
 * The content of a streamed message besides its payload. Throws `MESSAGE_INVALID`, and `OPTIONS_INVALID` for a malformed key or
 * a signal that is none.
 */
export function contentOfStreamed(message: StreamedMessage): NewMessage {
  assertFields(message, streamedMessageFields);
  const { payload: _source, bytes: _bytes, signal: _signal, idempotencyKey, ...fields } = message;
  if (idempotencyKey !== undefined) validateIdempotencyKey(idempotencyKey);
  return { ...fields, payload: '' };
}

/** Throws `MESSAGE_INVALID` if the message uses a feature that its queue does not support; `recordBytes` checks the rest. */
export function validateMessage(queue: QueueRow, message: NewMessage): void {
  const { recipients, priority = 0, delayMs = 0 } = message;
  if ((message as RecordContent).chunked !== undefined) throw new QueueError('MESSAGE_INVALID'); // internal field
  if (recipients === undefined && priority === 0 && delayMs === 0) return;
  const assert = (isValid: boolean, field: keyof NewMessage, sentence: string) => {
    if (!isValid) throw new QueueError('MESSAGE_INVALID', { message: sentence, details: { field } });
  };
  assert(
    recipients === undefined || queue.type === 'topic',
    'recipients',
    `${queue.name} is a queue: its messages cannot have recipients`,
  );
  assert(priority === 0 || queue.priorities, 'priority', `${queue.name} was created without priorities`);
  assert(
    delayMs === 0 || (queue.kind === 'sharded' && queue.durability !== 'memory'),
    'delayMs',
    'Only a persistent sharded queue can delay messages',
  );
}

/**
 * Bytes of the record of a new message. Throws `PAYLOAD_TOO_LARGE` or `MESSAGE_INVALID` if no queue could take it, whichever
 * way it came in: by a session in this process or another, over HTTP, alone or in a transaction.
 */
export function recordBytes(message: RecordContent): number {
  assertWithinBounds(message);
  return recordByteLength(message);
}

function assertWithinBounds(message: NewMessage): void {
  const { payload, correlationId, groupKey, properties, recipients, priority = 0, delayMs = 0 } = message;
  assertPayload(payload);
  assertWholeNumber('priority', priority, priorityMax);
  assertWholeNumber('delayMs', delayMs, limits.delayMsMax);
  if (correlationId !== undefined) assertKey('correlationId', correlationId);
  if (groupKey !== undefined) assertKey('groupKey', groupKey);
  if (properties !== undefined) assertProperties(properties);
  if (recipients !== undefined) assertRecipients(recipients);
}

function assertPayload(payload: unknown): void {
  if (typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw invalid('payload', 'payload is a string or bytes');
  }
  if (typeof payload === 'string') assertText('payload', 'payload', payload);
  const bytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
  if (bytes <= limits.payloadBytesMax) return;
  throw new QueueError('PAYLOAD_TOO_LARGE', {
    message: `The payload has ${bytes} bytes; ${limits.payloadBytesMax} are allowed`,
    details: { bytes, bytesMax: limits.payloadBytesMax },
  });
}

function assertWholeNumber(field: 'priority' | 'delayMs', value: number, most: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw invalid(field, `${field} is ${value}; a whole number from 0 to ${most} is needed`, { value, most });
}

function assertKey(field: 'correlationId' | 'groupKey', key: unknown): void {
  assertText(field, field, key);
  const bytes = Buffer.byteLength(key);
  if (bytes <= limits.keyBytesMax) return;
  throw invalid(field, `${field} has ${bytes} bytes; ${limits.keyBytesMax} are allowed`, {
    bytes,
    bytesMax: limits.keyBytesMax,
  });
}

function assertProperties(properties: unknown): void {
  const field = 'properties';
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) {
    throw invalid(field, 'properties is an object of strings');
  }
  const all = Object.entries(properties);
  for (const [name, value] of all) {
    assertText(field, 'The name of a property', name);
    assertText(field, 'The value of a property', value);
  }
  const own = all.filter(([name]) => !name.startsWith(reservedPropertyPrefix));
  if (own.length > limits.propertiesMax) {
    throw invalid(field, `The message has ${own.length} properties; ${limits.propertiesMax} are allowed`, {
      count: own.length,
      countMax: limits.propertiesMax,
    });
  }
  const bytes = Buffer.byteLength(JSON.stringify(Object.fromEntries(own)));
  if (bytes <= limits.propertiesBytesMax) return;
  throw invalid(
    field,
    `The properties have ${bytes} bytes as JSON; ${limits.propertiesBytesMax} are allowed`,
    {
      bytes,
      bytesMax: limits.propertiesBytesMax,
    },
  );
}

function assertRecipients(recipients: unknown): void {
  const field = 'recipients';
  const most = limits.subscribersMax;
  if (!Array.isArray(recipients) || recipients.length === 0 || recipients.length > most) {
    throw invalid(field, `recipients must name 1 to ${most} subscribers; leave it out to address all`);
  }
  for (const name of recipients) {
    const fault = subscriberNameFault(name);
    if (fault !== undefined) throw invalid(field, fault);
  }
}

/** A string that UTF-8 can store: a lone surrogate would come back as U+FFFD. */
function assertText(field: keyof NewMessage, what: string, text: unknown): asserts text is string {
  if (typeof text !== 'string') throw invalid(field, `${what} must be a string`);
  if (!text.isWellFormed()) throw invalid(field, `${what} must not contain a lone surrogate`);
}

function invalid(
  field: keyof NewMessage,
  message: string,
  details: Record<string, unknown> = {},
): QueueError {
  return new QueueError('MESSAGE_INVALID', { message, details: { field, ...details } });
}

/** Throws `VISIBILITY_MISMATCH` if calls of this kind are for queues with the other visibility. */
export function validateVisibility({ name, visibility }: QueueRow, ofCall: Visibility): void {
  if (visibility === ofCall) return;
  throw new QueueError('VISIBILITY_MISMATCH', {
    message:
      visibility === 'immediate'
        ? `${name} has immediate visibility: use enqueueNow and dequeueNow, which need no commit`
        : `${name} has visibility on commit: use enqueue and dequeue, then commit`,
    details: { queue: name, visibility },
  });
}

/** Throws `OPTIONS_INVALID` unless a subscriber is named for a topic, and none for a queue. */
export function validateSubscriber(
  { name, type }: Pick<QueueRow, 'name' | 'type'>,
  subscriber: string | undefined,
): void {
  if (subscriber !== undefined) validateText('subscriber', subscriber);
  if ((type === 'topic') === (subscriber !== undefined)) return;
  const message =
    type === 'topic' ? `${name} is a topic: name a subscriber` : `${name} is a queue: it has no subscribers`;
  throw new QueueError('OPTIONS_INVALID', { message });
}

/** Throws `OPTIONS_INVALID` for what is no text: as UTF-8, a lone surrogate would match the name of something else. */
export function validateText(option: string, text: string): void {
  if (typeof text === 'string' && text.isWellFormed()) return;
  throw new QueueError('OPTIONS_INVALID', {
    message: `${option} must be a string without lone surrogates`,
    details: { option },
  });
}

export type ValidatedDequeueOptions = DequeueOptions & { max: number; waitMs: number };

/** Returns a copy with the defaults filled in, which the caller may change. Throws `OPTIONS_INVALID`. */
export function validateDequeueOptions(
  options: DequeueOptions,
  fields: Fields = dequeueFields,
): ValidatedDequeueOptions {
  assertFields(options, fields);
  const { max = 1, waitMs = 0 } = options;
  validateMaxAndWait(max, waitMs);
  return { ...options, max, waitMs };
}

/** Throws `OPTIONS_INVALID`. */
export function validateMaxAndWait(max: number, waitMs: number): void {
  validateRange('max', max, 1, limits.dequeueMessagesMax);
  validateRange('waitMs', waitMs, 0, limits.waitMsMax);
}

/** Throws `OPTIONS_INVALID`. */
export function validateHoldMs(holdMs: number): number {
  validateRange('holdMs', holdMs, limits.holdMsMin, limits.holdMsMax);
  return holdMs;
}

/** Throws `OPTIONS_INVALID`. */
export function validateBytesMax(bytesMax: number): number {
  validateRange('bytesMax', bytesMax, 1, limits.receiveBytesMax);
  return bytesMax;
}

/** How many messages are certain to have at most so many bytes, or one. For stores whose batches know no such bound. Throws `OPTIONS_INVALID`. */
export function messagesWithin(bytesMax: number): number {
  return Math.max(1, Math.floor(validateBytesMax(bytesMax) / limits.payloadBytesMax));
}

/** A whole number. Throws `OPTIONS_INVALID`. */
export function validateRange(option: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new QueueError('OPTIONS_INVALID', {
    message: `${option} must be a whole number from ${least} to ${most}, not ${value}`,
    details: { option, value, least, most },
  });
}

/** The bounds of an open transaction, which is in memory until it commits. Throws `TX_TOO_LARGE`. */
export function assertTransactionSize(operations: number, bytes: number): void {
  const { transactionOperationsMax: operationsMax, transactionBytesMax: bytesMax } = limits;
  if (operations <= operationsMax && bytes <= bytesMax) return;
  throw new QueueError('TX_TOO_LARGE', { details: { operations, operationsMax, bytes, bytesMax } });
}

/** The idempotency key of a commit, if it has one. Throws `OPTIONS_INVALID`. */
export function validateCommitOptions(options: CommitOptions | undefined): string | undefined {
  if (options === undefined) return undefined;
  assertFields(options, commitFields);
  const { idempotencyKey } = options;
  if (idempotencyKey !== undefined) validateIdempotencyKey(idempotencyKey);
  return idempotencyKey;
}

/** Throws `OPTIONS_INVALID`. */
export function validateIdempotencyKey(key: string): void {
  const { idempotencyKeyCharactersMax: charactersMax } = limits;
  if (typeof key === 'string' && key.length <= charactersMax && /^[\x20-\x7e]+$/.test(key)) return;
  throw new QueueError('OPTIONS_INVALID', {
    message: `idempotencyKey must be 1 to ${charactersMax} printable ASCII characters`,
    details: { option: 'idempotencyKey', charactersMax },
  });
}

/** The result of a commit. A caller that does not read the ids does not pay for the strings. */
export class LazyCommitResult implements CommitResult {
  readonly idRuns: readonly IdRun[];
  readonly replayed: boolean;
  #ids: string[] | undefined;
  readonly #results: readonly SqlResult[] | 'lost';

  /** `lost`: there were statements, and their results are no longer known. */
  constructor(runs: readonly IdRun[], results: readonly SqlResult[] | 'lost' = [], replayed = false) {
    this.idRuns = runs;
    this.#results = results;
    this.replayed = replayed;
  }

  get hasLostResults(): boolean {
    return this.#results === 'lost';
  }

  get results(): SqlResult[] {
    if (this.#results === 'lost') throw new QueueError('SQL_RESULTS_LOST');
    return [...this.#results];
  }

  get ids(): string[] {
    this.#ids ??= messageIdsOf(this.idRuns);
    return this.#ids;
  }
}

/** A branch of a distributed transaction ends by the calls of its transaction manager. */
export const refusedInBranch = (call: string): QueueError =>
  new QueueError('XAER_PROTO', {
    message: `The session works in a branch, which its transaction manager ends: ${call} is refused`,
  });
