/**
 * A message over its record. The record is read when somebody looks at it: a consumer that only counts, or only wants the
 * payload, pays for no more.
 */
import type { Readable } from 'node:stream';
import { QueueError } from '../core/errors.ts';
import {
  type ChunkedPayload,
  type RecordFields,
  readChunked,
  readId,
  readPayload,
  readPayloadBytes,
  readRecord,
} from '../storage/message-record.ts';
import type { Message } from '../types.ts';
import { streamBytes } from './payload-stream.ts';

export abstract class RecordMessage implements Message {
  readonly seq: number;
  readonly #source: Buffer;
  readonly #start: number;
  #fields: RecordFields | undefined;
  #payload: Buffer | undefined;

  /** Nobody may write to `source` any more. */
  constructor(seq: number, source: Buffer, start: number) {
    this.seq = seq;
    this.#source = source;
    this.#start = start;
  }

  /** The number of its shard and a dot, or nothing for an unsharded queue. */
  protected abstract get place(): string;
  /** What follows the message's place and number in its receipt. */
  protected abstract get hold(): string;
  abstract get deliveryCount(): number;

  get id(): string {
    return readId(this.#source, this.#start) ?? `${this.place}${this.seq}`;
  }

  get receipt(): string {
    return `${this.place}${this.seq}.${this.hold}`;
  }

  get #read(): RecordFields {
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
    return readPayloadBytes(this.#source, this.#start);
  }

  get streamed(): boolean {
    return readChunked(this.#source, this.#start) !== undefined;
  }

  payloadStream(): Readable {
    const chunked = readChunked(this.#source, this.#start);
    return chunked === undefined ? streamBytes(this.payload) : this.streamChunks(chunked);
  }

  /** Who can reach the chunks says how. */
  protected streamChunks(_payload: ChunkedPayload): Readable {
    throw new QueueError('STREAM_UNSUPPORTED');
  }

  get correlationId(): string | undefined {
    return this.#read.correlationId;
  }

  get groupKey(): string | undefined {
    return this.#read.groupKey;
  }

  get properties(): Record<string, string> | undefined {
    return this.#read.properties;
  }

  get recipients(): string[] | undefined {
    return this.#read.recipients;
  }

  get priority(): number | undefined {
    return this.#read.priority;
  }

  get enqueuedAtMs(): number {
    return this.#read.enqueuedAtMs;
  }

  toJSON(): Omit<Message, 'payloadStream'> {
    const { id, payloadBytes, streamed, receipt, deliveryCount } = this;
    const { chunked: _, ...content } = this.#read;
    return { id, ...content, payloadBytes, streamed, deliveryCount, receipt };
  }
}

/** Where the payload of a browsed message lies, for who passes the message on; no part of what callers see. */
export const chunkedPayload = Symbol('chunked payload');

/** A message that nobody is handed: all that its record tells. */
export function readContent(
  source: Buffer,
  start: number,
  streamChunks: (payload: ChunkedPayload) => Readable,
): Omit<RecordFields, 'chunked'> &
  Pick<Message, 'payloadBytes' | 'streamed' | 'payloadStream'> & { [chunkedPayload]?: ChunkedPayload } {
  const { chunked, ...content } = readRecord(source, start);
  return {
    ...content,
    payloadBytes: chunked?.bytes ?? content.payload.length,
    streamed: chunked !== undefined,
    payloadStream: () => (chunked === undefined ? streamBytes(content.payload) : streamChunks(chunked)),
    ...(chunked !== undefined && { [chunkedPayload]: chunked }),
  };
}
