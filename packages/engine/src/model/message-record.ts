/**
 * The encoding of a message, in memory and on disk alike, and the message as its consumer sees it, over its record. Records
 * of consecutive sequence numbers follow one another; the number itself is not stored, it is the first one of the run plus
 * the index.
 *
 *     u32 length of the whole record · u8 flags · f64 enqueued at, epoch ms
 *     [u8] priority · [f64] due at, epoch ms · [u16 length, UTF-8] id, if it differs from that of its log and sequence number
 *     [u16 length, UTF-8] correlation id · [u16 length, UTF-8] group key · [u32 length, JSON] properties
 *     [u32 length, names joined by U+0000] recipients · payload
 *
 * For a payload in chunks (`payload-table.ts`) a reference takes the place of the payload:
 *
 *     f64 number of the payload · f64 bytes · u32 CRC-32 of all of it
 */

import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage, PayloadStream } from '../api/message.ts';
import type { PayloadId, Seq } from './ids.ts';

/** Length of an id that a record contains: `<log>.<sequence>` in digits. */
export const idBytesMax = 32;
/** A record without payload and optional fields. */
export const recordBytesMin = 13;
const headerBytes = recordBytesMin;
/** Flags of a record: which optional fields it has. */
export const hasCorrelationId = 1;
export const hasGroupKey = 2;
export const hasProperties = 4;
export const hasRecipients = 8;
export const hasPriority = 16;
export const hasDueAt = 32;
export const hasId = 64;
const hasChunks = 128;
const payloadReferenceBytes = 20;
const recipientSeparator = '\0';

/** Identifies a payload in chunks, with its expected length and checksum. */
export interface ChunkedPayload {
  payloadId: PayloadId;
  bytes: number;
  /** CRC-32 of all its bytes. */
  crc: number;
  /** SHA-256 of all its bytes: known until the message is committed, and not stored. */
  sha256?: Uint8Array;
}

/** The content of a record; with `chunked` the payload is empty. */
export interface RecordContent extends NewMessage {
  chunked?: ChunkedPayload;
}

/**
 * Bytes of a message's record, without checking its bounds: a message that was moved to an exception queue may exceed them
 * because of its added properties. For a new message call `recordBytes` of `session-calls.ts`, which checks.
 */
export function recordByteLength(message: RecordContent): number {
  const { payload, correlationId, groupKey, properties, recipients, priority = 0, delayMs = 0 } = message;
  let bytes = headerBytes;
  if (message.chunked !== undefined) bytes += payloadReferenceBytes;
  else bytes += typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
  if (priority > 0) bytes += 1;
  if (delayMs > 0) bytes += 8 + 2 + idBytesMax;
  if (correlationId !== undefined) bytes += 2 + Buffer.byteLength(correlationId);
  if (groupKey !== undefined) bytes += 2 + Buffer.byteLength(groupKey);
  if (properties !== undefined) bytes += 4 + Buffer.byteLength(JSON.stringify(properties));
  if (recipients !== undefined) bytes += 4 + Buffer.byteLength(recipients.join(recipientSeparator));
  return bytes;
}

/** Fields that the enqueue adds to a message's content. */
export interface RecordStamp {
  enqueuedAtMs: number;
  /**
   * The id of a message that is stored elsewhere before it gets its place in a log, or that comes from another instance or queue:
   * it keeps that id.
   */
  id?: string;
}

/** Writes the record at `start` and returns its end. There must be room for `recordByteLength` bytes and an id. */
export function writeRecord(
  target: Buffer,
  start: number,
  message: RecordContent,
  { enqueuedAtMs, id }: RecordStamp,
): number {
  const { priority = 0, delayMs = 0 } = message;
  let flags = 0;
  let at = start + headerBytes;
  if (priority > 0) {
    flags |= hasPriority;
    at = target.writeUInt8(priority, at);
  }
  if (delayMs > 0) {
    flags |= hasDueAt;
    at = target.writeDoubleLE(enqueuedAtMs + delayMs, at);
  }
  if (id !== undefined) {
    flags |= hasId;
    const bytes = target.write(id, at + 2);
    at = target.writeUInt16LE(bytes, at) + bytes;
  }
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
  const { payload, chunked } = message;
  if (chunked !== undefined) {
    flags |= hasChunks;
    at = writePayloadReference(target, at, chunked);
  } else if (typeof payload === 'string') at += target.write(payload, at);
  else {
    target.set(payload, at);
    at += payload.byteLength;
  }
  target.writeUInt32LE(at - start, start);
  target[start + 4] = flags;
  target.writeDoubleLE(enqueuedAtMs, start + 5);
  return at;
}

function writePayloadReference(
  target: Buffer,
  start: number,
  { payloadId, bytes, crc }: ChunkedPayload,
): number {
  let at = target.writeDoubleLE(payloadId, start);
  at = target.writeDoubleLE(bytes, at);
  return target.writeUInt32LE(crc, at);
}

/** Returns the end of the record that starts at `start`. */
export function recordEnd(source: Buffer, start: number): number {
  return start + source.readUInt32LE(start);
}

/** When the message of the record was enqueued, epoch ms. */
export function readEnqueuedAtMs(source: Buffer, start: number): number {
  return source.readDoubleLE(start + 5);
}

export function readRecipients(source: Buffer, at: number): string[] {
  return source.toString('utf8', at + 4, at + 4 + source.readUInt32LE(at)).split(recipientSeparator);
}

/** Returns the position of the reference to a payload in chunks; undefined if the payload is in the record. */
export function chunkedPayloadStart(source: Buffer, start: number): number | undefined {
  return hasChunkedPayload(source, start) ? payloadStart(source, start) : undefined;
}

/** Past the header, the priority, the due time and the id. */
export function variableFieldsStart(source: Buffer, start: number): number {
  const flags = source[start + 4]!;
  let at = start + headerBytes;
  if (flags & hasPriority) at += 1;
  if (flags & hasDueAt) at += 8;
  if (flags & hasId) at += 2 + source.readUInt16LE(at);
  return at;
}

/** Reads the id in the record; undefined if the id follows from the record's log and sequence number. */
export function readId(source: Buffer, start: number): string | undefined {
  const flags = source[start + 4]!;
  if ((flags & hasId) === 0) return undefined;
  let at = start + headerBytes;
  if (flags & hasPriority) at += 1;
  if (flags & hasDueAt) at += 8;
  return source.toString('utf8', at + 2, at + 2 + source.readUInt16LE(at));
}

/** Records one after the other. */
export interface RecordRun {
  source: Buffer;
  start: number;
  end: number;
  count: number;
}

export interface RecordFields {
  /** Empty if it is stored in chunks. */
  payload: Buffer;
  chunked?: ChunkedPayload;
  correlationId?: string;
  groupKey?: string;
  properties?: Record<string, string>;
  recipients?: string[];
  priority?: number;
  /** Delay from the enqueue, of a message that is or was delayed. */
  delayMs?: number;
  enqueuedAtMs: number;
}

/** A copy of the payload alone. Throws `PAYLOAD_STREAMED` if it is stored in chunks. */
export function readPayload(source: Buffer, start: number): Buffer {
  const at = payloadStart(source, start);
  if (source[start + 4]! & hasChunks) {
    throw new QueueError('PAYLOAD_STREAMED', { details: { bytes: readPayloadReference(source, at).bytes } });
  }
  return copyRange(source, at, recordEnd(source, start));
}

/** Whether the payload is stored in chunks, which exist only in its instance's file. */
export function hasChunkedPayload(source: Buffer, start: number): boolean {
  return (source[start + 4]! & hasChunks) !== 0;
}

/** The reference to a payload in chunks; undefined if the payload is in the record. */
export function readChunkedPayload(source: Buffer, start: number): ChunkedPayload | undefined {
  if (!hasChunkedPayload(source, start)) return undefined;
  return readPayloadReference(source, payloadStart(source, start));
}

/** Length of the payload, in the record or in chunks. */
export function readPayloadByteLength(source: Buffer, start: number): number {
  return readChunkedPayload(source, start)?.bytes ?? recordEnd(source, start) - payloadStart(source, start);
}

function readPayloadReference(source: Buffer, at: number): ChunkedPayload {
  return {
    payloadId: source.readDoubleLE(at),
    bytes: source.readDoubleLE(at + 8),
    crc: source.readUInt32LE(at + 16),
  };
}

function payloadStart(source: Buffer, start: number): number {
  const flags = source[start + 4]!;
  let at = variableFieldsStart(source, start);
  if (flags & hasCorrelationId) at += 2 + source.readUInt16LE(at);
  if (flags & hasGroupKey) at += 2 + source.readUInt16LE(at);
  if (flags & hasProperties) at += 4 + source.readUInt32LE(at);
  if (flags & hasRecipients) at += 4 + source.readUInt32LE(at);
  return at;
}

function copyRange(source: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  source.copy(copy, 0, start, end);
  return copy;
}

/** Reads a record. The payload is a copy, so the caller may write to it. */
export function readRecord(source: Buffer, start: number): RecordFields {
  const end = recordEnd(source, start);
  const flags = source[start + 4]!;
  let at = variableFieldsStart(source, start);
  const fields: Omit<RecordFields, 'payload'> = { enqueuedAtMs: readEnqueuedAtMs(source, start) };
  if (flags & hasPriority) fields.priority = source[start + headerBytes]!;
  if (flags & hasDueAt) {
    const dueAtMs = source.readDoubleLE(start + headerBytes + (flags & hasPriority ? 1 : 0));
    fields.delayMs = dueAtMs - fields.enqueuedAtMs;
  }
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
  if (flags & hasChunks) {
    return { ...fields, payload: Buffer.alloc(0), chunked: readPayloadReference(source, at) };
  }
  return { ...fields, payload: copyRange(source, at, end) };
}

/**
 * A message over its record. The record is decoded when a property is first read: a consumer that only counts messages,
 * or only reads payloads, does not pay for the rest.
 */
export abstract class RecordMessage implements Message {
  readonly seq: Seq;
  readonly #source: Buffer;
  readonly #start: number;
  #fields: RecordFields | undefined;
  #payload: Buffer | undefined;

  /** `source` must not be modified afterwards. */
  constructor(seq: Seq, source: Buffer, start: number) {
    this.seq = seq;
    this.#source = source;
    this.#start = start;
  }

  /** The number of the message's log and a dot; empty for an unsharded queue. */
  protected abstract get idPrefix(): string;
  abstract readonly receipt: string;
  abstract get deliveryCount(): number;

  get id(): string {
    return readId(this.#source, this.#start) ?? `${this.idPrefix}${this.seq}`;
  }

  get #decoded(): RecordFields {
    this.#fields ??= readRecord(this.#source, this.#start);
    return this.#fields;
  }

  get payload(): Buffer {
    this.#payload ??= this.#readPayload();
    return this.#payload;
  }

  #readPayload(): Buffer {
    if (this.#fields !== undefined && this.#fields.chunked === undefined) return this.#fields.payload;
    return readPayload(this.#source, this.#start);
  }

  get payloadBytes(): number {
    return readPayloadByteLength(this.#source, this.#start);
  }

  get streamed(): boolean {
    return readChunkedPayload(this.#source, this.#start) !== undefined;
  }

  payloadStream(): PayloadStream {
    return this.streamPayload(readChunkedPayload(this.#source, this.#start) ?? this.payload);
  }

  /** Streams a payload that is in memory, or one in chunks from where the subclass can read them. */
  protected abstract streamPayload(payload: ChunkedPayload | Buffer): ReturnType<Message['payloadStream']>;

  get correlationId(): string | undefined {
    return this.#decoded.correlationId;
  }

  get groupKey(): string | undefined {
    return this.#decoded.groupKey;
  }

  get properties(): Record<string, string> | undefined {
    return this.#decoded.properties;
  }

  get recipients(): string[] | undefined {
    return this.#decoded.recipients;
  }

  get priority(): number | undefined {
    return this.#decoded.priority;
  }

  get enqueuedAtMs(): number {
    return this.#decoded.enqueuedAtMs;
  }

  toJSON(): Omit<Message, 'payloadStream'> {
    const { id, payloadBytes, streamed, receipt, deliveryCount } = this;
    const { chunked: _, ...content } = this.#decoded;
    return { id, ...content, payloadBytes, streamed, deliveryCount, receipt };
  }
}

/** The same bytes, not copied. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
