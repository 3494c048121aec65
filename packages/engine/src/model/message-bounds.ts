/**
 * The bounds of a message, whichever way it comes in: by a session in this process or another, over HTTP, alone or in a
 * transaction. What only its queue can refuse is in `validate-call.ts`.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { NewMessage } from '../api/message.ts';
import { priorityMax } from './log-id.ts';
import { subscriberNameFault } from './subscriber-name.ts';

/** Properties of a host, such as the server's content type. They do not count towards the bounds of a message. */
const reservedPropertyPrefix = 'shardlab-';

/** Throws `PAYLOAD_TOO_LARGE`, `MESSAGE_INVALID`. */
export function assertWithinBounds(message: NewMessage): void {
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
  if (typeof text !== 'string') throw invalid(field, `${what} is no string`);
  if (!text.isWellFormed()) throw invalid(field, `${what} contains a lone surrogate, which is no character`);
}

function invalid(
  field: keyof NewMessage,
  message: string,
  details: Record<string, unknown> = {},
): QueueError {
  return new QueueError('MESSAGE_INVALID', { message, details: { field, ...details } });
}
