/**
 * Why messages came back: what their consumers said when they returned them, and what a message takes along when it moves to the
 * exception queue. It is kept in memory, by the process that delivers the message, until that ends; only the number of
 * deliveries is stored.
 */

import { RejectMessage, RetryLater } from '../api/handler-errors.ts';
import { limits } from '../api/limits.ts';
import type { ReturnOptions } from '../api/session.ts';
import { assertFields, invalidArgument } from './call-arguments.ts';
import { returnFields } from './call-fields.ts';
import type { RecordFields } from './message-record.ts';

/** An error as text, within the bounds of `limits.ts`. */
export interface ErrorText {
  name: string;
  message: string;
  stack: string;
}

/** `ReturnOptions` that were checked: they can travel as JSON. */
export interface ValidReturn {
  error?: ErrorText;
  delayMs?: number;
  reject?: boolean;
}

/** The attempts of a message, or of several that were always returned together, that failed since the process opened the queue. */
export interface FailedAttempts {
  /** When they ended, epoch ms: the first one and the latest. */
  readonly endedAtMs: readonly number[];
  /** The last error that a consumer gave. */
  readonly error: ErrorText | undefined;
}

export function addFailure(
  earlier: FailedAttempts | undefined,
  { error }: ValidReturn,
  nowMs: number,
): FailedAttempts {
  const endedAtMs = [...(earlier?.endedAtMs ?? []), nowMs];
  if (endedAtMs.length > limits.attemptTimesMax) endedAtMs.splice(1, 1);
  return { endedAtMs, error: error ?? earlier?.error };
}

/**
 * The failures of messages that any process may deliver next, by a key of the message. Of messages that another process has
 * consumed nothing is heard here, so only those that failed last are kept.
 */
export class RecentFailures {
  readonly #byKey = new Map<string, FailedAttempts>();

  add(key: string, how: ValidReturn, nowMs: number): void {
    const failures = addFailure(this.#byKey.get(key), how, nowMs);
    this.#byKey.delete(key);
    this.#byKey.set(key, failures);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > limits.failedMessagesMax) this.#byKey.delete(oldest!);
  }

  get(key: string): FailedAttempts | undefined {
    return this.#byKey.get(key);
  }

  /** The messages are consumed. */
  forget<Message>(messages: readonly Message[], keyOf: (message: Message) => string): void {
    if (this.#byKey.size === 0) return;
    for (const message of messages) this.#byKey.delete(keyOf(message));
  }
}

/** Throws `OPTIONS_INVALID`. */
export function validateReturn(options: ReturnOptions = {}): ValidReturn {
  assertFields(options, returnFields);
  const { error, delayMs, reject = false } = options;
  const most = limits.retryDelayMsMax;
  if (delayMs !== undefined && !(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= most))
    throw invalidArgument('delayMs', `a whole number from 0 to ${most}`, delayMs);
  return {
    ...(error !== undefined && { error: errorText(error) }),
    ...(delayMs !== undefined && { delayMs }),
    ...(reject && { reject }),
  };
}

/** How a message is returned whose handler threw this. */
export function returnOfThrown(thrown: unknown): ReturnOptions {
  if (!(thrown instanceof RejectMessage || thrown instanceof RetryLater))
    return { error: thrown ?? 'undefined' };
  const error = thrown.cause ?? thrown;
  return thrown instanceof RejectMessage ? { error, reject: true } : { error, delayMs: thrown.delayMs };
}

/** Whatever a handler has thrown, as text within bounds. */
export function errorText(thrown: unknown): ErrorText {
  const { name, message, stack } = partsOf(thrown);
  return {
    name: withinBytes(name, limits.errorNameBytesMax),
    message: withinBytes(message, limits.errorMessageBytesMax),
    stack: withinBytes(stack, limits.errorStackBytesMax),
  };
}

/** A handler may throw anything, also what throws when it is read. */
function partsOf(thrown: unknown): ErrorText {
  try {
    if (typeof thrown !== 'object' || thrown === null)
      return { name: typeof thrown, message: String(thrown), stack: '' };
    const { name = 'Error', message = '', stack = '' } = thrown as Partial<ErrorText>;
    return { name: String(name), message: String(message), stack: String(stack) };
  } catch {
    return { name: 'unknown', message: 'An error that cannot be read', stack: '' };
  }
}

/** Cut at a character. Without lone surrogates, which no record can store. */
function withinBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text.slice(0, bytesMax).toWellFormed());
  if (bytes.length <= bytesMax) return bytes.toString();
  let end = bytesMax;
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1; // inside a character
  return bytes.toString('utf8', 0, end);
}

/** Names of the properties that a message has in an exception queue beside its own. */
export const exceptionProperties = {
  queue: 'exception-queue-of',
  reason: 'exception-reason',
  errorName: 'exception-error-name',
  errorMessage: 'exception-error-message',
  errorStack: 'exception-error-stack',
  /** When its attempts failed, as a JSON array of ISO 8601 times, the first one and the latest. */
  attemptsEndedAt: 'exception-attempts-ended-at',
} as const;

export interface ExceptionReason {
  queue: string;
  attempts: number;
  rejected: boolean;
  failures: FailedAttempts | undefined;
}

/** The message with properties that say which queue it comes from and why it was moved. */
export function withExceptionReason(
  { priority: _, recipients: __, ...fields }: RecordFields,
  { queue, attempts, rejected, failures }: ExceptionReason,
) {
  const { error, endedAtMs = [] } = failures ?? {};
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  const properties = {
    ...fields.properties,
    [exceptionProperties.queue]: queue,
    [exceptionProperties.reason]: rejected
      ? `rejected by its consumer, delivered ${times}`
      : `delivered ${times} without being consumed`,
    ...(error !== undefined && {
      [exceptionProperties.errorName]: error.name,
      [exceptionProperties.errorMessage]: error.message,
      [exceptionProperties.errorStack]: error.stack,
    }),
    ...(endedAtMs.length > 0 && {
      [exceptionProperties.attemptsEndedAt]: JSON.stringify(
        endedAtMs.map((ms) => new Date(ms).toISOString()),
      ),
    }),
  };
  return { ...fields, properties };
}
