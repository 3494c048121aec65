/** Validates the calls of a session: their options, what their queue supports, and the size of its transaction. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { NewMessage } from '../api/message.ts';
import type { DequeueOptions } from '../api/session.ts';
import type { RecordContent } from './message-record.ts';
import type { QueueRow } from './queue-row.ts';

/** Throws `MESSAGE_INVALID` if the message asks for something that its queue does not support. */
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

/** Throws `OPTIONS_INVALID` unless a subscriber is named for a topic, and none for a queue. */
export function validateSubscriber({ name, type }: QueueRow, subscriber: string | undefined): void {
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
export function validateDequeueOptions(options: DequeueOptions): ValidatedDequeueOptions {
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

function validateRange(option: string, value: number, least: number, most: number): void {
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
