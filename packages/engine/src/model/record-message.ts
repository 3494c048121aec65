/**
 * A message over its record. The record is decoded when a property is first read: a consumer that only counts messages,
 * or only reads payloads, does not pay for the rest.
 */
import type { Message, PayloadStream } from '../api/message.ts';
import {
  type ChunkedPayload,
  type RecordFields,
  readChunkedPayload,
  readId,
  readPayload,
  readPayloadByteLength,
  readRecord,
} from './message-record.ts';

export abstract class RecordMessage implements Message {
  readonly seq: number;
  readonly #source: Buffer;
  readonly #start: number;
  #fields: RecordFields | undefined;
  #payload: Buffer | undefined;

  /** `source` must not be written to any more. */
  constructor(seq: number, source: Buffer, start: number) {
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
