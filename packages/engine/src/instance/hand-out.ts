/** What a dequeue hands out: a run of consecutive messages of one reader, and the messages as their consumer sees them. */
import type { Readable } from 'node:stream';
import { type ChunkedPayload, recordEnd } from '../storage/message-record.ts';
import type { Message } from '../types.ts';
import type { CachedRun } from './message-cache.ts';
import type { PayloadStore } from './payload-store.ts';
import { streamPayload } from './payload-stream.ts';
import { RecordMessage } from './record-message.ts';
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

export interface TakeOptions {
  max: number;
  nextHoldNo(): number;
  out: Delivery[];
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

/** What messages of an instance are handed out with. */
export interface HandOutSource {
  epoch: number;
  payloads: PayloadStore;
}

/** Names the hand-out of the one message that `delivery` is. */
export function receiptOf({ reader, firstSeq, holdNo }: Delivery, epoch: number): string {
  return `${reader.shard.no}.${firstSeq}.${epoch}.${holdNo}`;
}

/** Appends the messages of a hand-out to `out`, in order. */
export function messagesOf(delivery: Delivery, source: HandOutSource, out: Message[]): void {
  const { buffer } = delivery.run;
  const end = delivery.firstSeq + delivery.count;
  let at = delivery.start;
  for (let seq = delivery.firstSeq; seq < end; seq += 1) {
    out.push(new DeliveredMessage(delivery, source, seq, at));
    at = recordEnd(buffer, at);
  }
}

/** A message as it was handed out. Its delivery lets it be passed on as bytes, with its neighbours (`cluster/remote/hand-outs.ts`). */
export class DeliveredMessage extends RecordMessage {
  readonly delivery: Delivery;
  readonly #source: HandOutSource;

  constructor(delivery: Delivery, source: HandOutSource, seq: number, start: number) {
    super(seq, delivery.run.buffer, start);
    this.delivery = delivery;
    this.#source = source;
  }

  protected override get place(): string {
    return `${this.delivery.reader.shard.no}.`;
  }

  override get hold(): string {
    return `${this.#source.epoch}.${this.delivery.holdNo}`;
  }

  override get deliveryCount(): number {
    return this.delivery.deliveryCount;
  }

  protected override streamChunks(payload: ChunkedPayload): Readable {
    return streamPayload(payload, (place) => this.#source.payloads.read(place));
  }
}
