/**
 * A message over its record. The record is read when somebody looks at it: a consumer that only counts, or only wants the
 * payload, pays for no more.
 */
import { type RecordFields, readId, readPayload, readRecord } from '../storage/message-record.ts';
import type { Message } from '../types.ts';

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
    this.#payload ??= this.#fields?.payload ?? readPayload(this.#source, this.#start);
    return this.#payload;
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

  toJSON(): Message {
    const { id, payload, receipt, deliveryCount } = this;
    return { id, ...this.#read, payload, deliveryCount, receipt };
  }
}
