/** What a dequeue hands out: a run of consecutive messages of one reader, and the messages as their consumer sees them. */
import { type RecordFields, readId, readRecord, recordEnd } from '../storage/message-record.ts';
import type { Message } from '../types.ts';
import type { CachedRun } from './message-cache.ts';
import type { ShardReader } from './shard-reader.ts';

/**
 * One hand-out. Consecutive messages that go to one call are one of these whatever their number, so the cost of holding
 * and consuming them does not grow with it.
 */
export interface Delivery {
  readonly reader: ShardReader;
  readonly firstSeq: number;
  readonly count: number;
  /** Where its first record starts and its last one ends in the run's buffer. */
  readonly run: CachedRun;
  readonly start: number;
  readonly end: number;
  /** The same for all of it: what is handed out together came back together. */
  readonly deliveryCount: number;
  /** Unique in the instance's epoch; what a receipt is checked against. */
  readonly holdNo: number;
}

/** The first `count` messages of a hand-out, and the rest, which has at least one. */
export function splitDelivery(delivery: Delivery, count: number): [first: Delivery, rest: Delivery] {
  let middle = delivery.start;
  for (let i = 0; i < count; i += 1) middle = recordEnd(delivery.run.buffer, middle);
  return [
    { ...delivery, count, end: middle },
    {
      ...delivery,
      firstSeq: delivery.firstSeq + count,
      count: delivery.count - count,
      start: middle,
    },
  ];
}

/** A hand-out as hand-outs of one message each. */
export function* eachOf(delivery: Delivery): Generator<Delivery> {
  let rest = delivery;
  while (rest.count > 1) {
    const [one, others] = splitDelivery(rest, 1);
    yield one;
    rest = others;
  }
  yield rest;
}

/** Names the hand-out of the one message that `delivery` is. */
export function receiptOf({ reader, firstSeq, holdNo }: Delivery, epoch: number): string {
  return `${reader.shard.no}.${firstSeq}.${epoch}.${holdNo}`;
}

/** Appends the messages of a hand-out to `out`, in order. */
export function messagesOf(delivery: Delivery, epoch: number, out: Message[]): void {
  const { buffer } = delivery.run;
  const end = delivery.firstSeq + delivery.count;
  let at = delivery.start;
  for (let seq = delivery.firstSeq; seq < end; seq += 1) {
    out.push(new DeliveredMessage(delivery, epoch, seq, at));
    at = recordEnd(buffer, at);
  }
}

/** Reads its record when it is looked at: a consumer that only counts, or only wants the payload, pays for no more. */
class DeliveredMessage implements Message {
  readonly #delivery: Delivery;
  readonly #epoch: number;
  readonly #seq: number;
  readonly #start: number;
  #fields: RecordFields | undefined;

  constructor(delivery: Delivery, epoch: number, seq: number, start: number) {
    this.#delivery = delivery;
    this.#epoch = epoch;
    this.#seq = seq;
    this.#start = start;
  }

  get #read(): RecordFields {
    this.#fields ??= readRecord(this.#delivery.run.buffer, this.#start);
    return this.#fields;
  }

  get id(): string {
    const { reader, run } = this.#delivery;
    return readId(run.buffer, this.#start) ?? `${reader.shard.no}.${this.#seq}`;
  }

  get receipt(): string {
    const { reader, holdNo } = this.#delivery;
    return `${reader.shard.no}.${this.#seq}.${this.#epoch}.${holdNo}`;
  }

  get payload(): Buffer {
    return this.#read.payload;
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

  get deliveryCount(): number {
    return this.#delivery.deliveryCount;
  }

  toJSON(): Message {
    const { id, receipt, deliveryCount } = this;
    return { id, ...this.#read, deliveryCount, receipt };
  }
}
