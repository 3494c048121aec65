/**
 * How a message lies in bytes, in memory and on disk alike. Records of consecutive sequence numbers follow one another;
 * the number itself is not stored, it is the first one of the run plus the index.
 *
 *     u32 length of the whole record · u8 flags · f64 enqueued at, epoch ms
 *     [u16 length, UTF-8] correlation id · [u16 length, UTF-8] group key · [u32 length, JSON] properties
 *     [u32 length, names joined by U+0000] recipients · payload
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { NewMessage } from '../types.ts';

const headerBytes = 13;
const hasCorrelationId = 1;
const hasGroupKey = 2;
const hasProperties = 4;
const hasRecipients = 8;
const recipientSeparator = '\0';

/**
 * Bytes of the record of a message. Throws `PAYLOAD_TOO_LARGE` or `MESSAGE_INVALID`: a message that passes here can be
 * written.
 */
export function recordBytes(message: NewMessage): number {
  const { payload, correlationId, groupKey, properties, recipients } = message;
  if (typeof payload !== 'string' && !(payload instanceof Uint8Array)) {
    throw new QueueError('MESSAGE_INVALID', {
      sentence: 'payload is a string or bytes',
      details: { field: 'payload' },
    });
  }
  const payloadBytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
  if (payloadBytes > limits.payloadBytesMax) {
    throw new QueueError('PAYLOAD_TOO_LARGE', {
      sentence: `The payload has ${payloadBytes} bytes; ${limits.payloadBytesMax} are allowed`,
      details: { bytes: payloadBytes, bytesMax: limits.payloadBytesMax },
    });
  }
  let bytes = headerBytes + payloadBytes;
  if (correlationId !== undefined) bytes += 2 + keyBytes('correlationId', correlationId);
  if (groupKey !== undefined) bytes += 2 + keyBytes('groupKey', groupKey);
  if (properties !== undefined) bytes += 4 + propertiesBytes(properties);
  if (recipients !== undefined) bytes += 4 + Buffer.byteLength(recipients.join(recipientSeparator));
  return bytes;
}

function propertiesBytes(properties: Record<string, string>): number {
  const bytes = Buffer.byteLength(JSON.stringify(properties));
  if (bytes <= limits.propertiesBytesMax) return bytes;
  throw new QueueError('MESSAGE_INVALID', {
    sentence: `The properties have ${bytes} bytes as JSON; ${limits.propertiesBytesMax} are allowed`,
    details: { field: 'properties', bytes, bytesMax: limits.propertiesBytesMax },
  });
}

function keyBytes(field: string, key: string): number {
  const bytes = Buffer.byteLength(key);
  if (bytes <= limits.keyBytesMax) return bytes;
  throw new QueueError('MESSAGE_INVALID', {
    sentence: `${field} has ${bytes} bytes; ${limits.keyBytesMax} are allowed`,
    details: { field, bytes, bytesMax: limits.keyBytesMax },
  });
}

/** Writes the record at `start`, where `recordBytes` are free; returns where it ends. */
export function writeRecord(
  target: Buffer,
  start: number,
  message: NewMessage,
  enqueuedAtMs: number,
): number {
  let flags = 0;
  let at = start + headerBytes;
  if (message.correlationId !== undefined) {
    flags |= hasCorrelationId;
    const bytes = target.write(message.correlationId, at + 2);
    at = target.writeUInt16LE(bytes, at) + bytes;
  }
  if (message.groupKey !== undefined) {
    flags |= hasGroupKey;
    const bytes = target.write(message.groupKey, at + 2);
    at = target.writeUInt16LE(bytes, at) + bytes;
  }
  if (message.properties !== undefined) {
    flags |= hasProperties;
    const json = JSON.stringify(message.properties);
    const bytes = Buffer.byteLength(json);
    target.write(json, at + 4);
    at = target.writeUInt32LE(bytes, at) + bytes;
  }
  if (message.recipients !== undefined) {
    flags |= hasRecipients;
    const bytes = target.write(message.recipients.join(recipientSeparator), at + 4);
    at = target.writeUInt32LE(bytes, at) + bytes;
  }
  const { payload } = message;
  if (typeof payload === 'string') at += target.write(payload, at);
  else {
    target.set(payload, at);
    at += payload.byteLength;
  }
  target.writeUInt32LE(at - start, start);
  target[start + 4] = flags;
  target.writeDoubleLE(enqueuedAtMs, start + 5);
  return at;
}

/** Where the record that starts at `start` ends. */
export function recordEnd(source: Buffer, start: number): number {
  return start + source.readUInt32LE(start);
}

/** When the message of the record was enqueued, epoch ms. */
export function readEnqueuedAtMs(source: Buffer, start: number): number {
  return source.readDoubleLE(start + 5);
}

/** Whether a subscriber gets the message: it names no recipients, or this one among them. */
export function isFor(source: Buffer, start: number, subscriber: string): boolean {
  const flags = source[start + 4]!;
  if ((flags & hasRecipients) === 0) return true;
  let at = start + headerBytes;
  if (flags & hasCorrelationId) at += 2 + source.readUInt16LE(at);
  if (flags & hasGroupKey) at += 2 + source.readUInt16LE(at);
  if (flags & hasProperties) at += 4 + source.readUInt32LE(at);
  return readRecipients(source, at).includes(subscriber);
}

function readRecipients(source: Buffer, at: number): string[] {
  return source.toString('utf8', at + 4, at + 4 + source.readUInt32LE(at)).split(recipientSeparator);
}

export interface RecordFields {
  payload: Buffer;
  correlationId?: string;
  groupKey?: string;
  properties?: Record<string, string>;
  recipients?: string[];
  enqueuedAtMs: number;
}

/** Reads a record; the payload is a copy, so that whoever gets it may write to it. */
export function readRecord(source: Buffer, start: number): RecordFields {
  const end = recordEnd(source, start);
  const flags = source[start + 4]!;
  let at = start + headerBytes;
  const fields: Omit<RecordFields, 'payload'> = { enqueuedAtMs: readEnqueuedAtMs(source, start) };
  if (flags & hasCorrelationId) {
    const bytes = source.readUInt16LE(at);
    fields.correlationId = source.toString('utf8', at + 2, at + 2 + bytes);
    at += 2 + bytes;
  }
  if (flags & hasGroupKey) {
    const bytes = source.readUInt16LE(at);
    fields.groupKey = source.toString('utf8', at + 2, at + 2 + bytes);
    at += 2 + bytes;
  }
  if (flags & hasProperties) {
    const bytes = source.readUInt32LE(at);
    fields.properties = JSON.parse(source.toString('utf8', at + 4, at + 4 + bytes)) as Record<string, string>;
    at += 4 + bytes;
  }
  if (flags & hasRecipients) {
    fields.recipients = readRecipients(source, at);
    at += 4 + source.readUInt32LE(at);
  }
  const payload = Buffer.allocUnsafe(end - at);
  source.copy(payload, 0, at, end);
  return { ...fields, payload };
}
