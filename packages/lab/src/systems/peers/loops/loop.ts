/**
 * What both loops have in common. They are bounds for the engine, no queues that one could use: without a protocol, without anything
 * that recovers what was written. All transactions that wait when the event loop comes to it are one group. Its store writes and
 * syncs it on the calling thread; then all of them go on, and consumers find its messages in memory.
 */
import { join } from 'node:path';
import { libraryCall, waitingForMessages } from '../../../meters/load-waits.ts';
import type { OpenClient, Producer, WrittenCounts } from '../../driver/driver.ts';
import { startPulling } from '../../driver/pull-consumers.ts';

/** Messages that the consumers of a subscriber have finished; a queue has one, number 0. */
export interface ConsumedRange {
  subscriber: number;
  first: number;
  count: number;
}

/** Messages are numbered from 0 in the order of the groups. */
export interface Group {
  first: number;
  payloads: readonly Buffer[];
  /** At most one for each subscriber, since consumers take messages in their order. */
  consumed: readonly ConsumedRange[];
}

export interface GroupStore {
  /** Durability in words. */
  readonly stated: string;
  readonly written: WrittenCounts;
  /** The group is durable when it returns. Throws what a write or a sync throws. */
  write(group: Group): void;
  close(): void;
}

/** `openStore` creates files whose paths begin with `path`, for a queue or a topic with this many `subscribers`. */
export function openLoop(openStore: (path: string, subscribers: number) => GroupStore): OpenClient {
  return async ({ dir, process, subscribers }) => {
    const copies = Math.max(1, subscribers);
    const store = openStore(join(dir, `loop-${process}`), copies);
    const loop = new Loop(store, copies);
    return {
      stated: store.stated,
      written: () => store.written,
      async openProducer(book) {
        const time = book.openSession();
        return { time, send: (payloads) => loop.enqueue(payloads, time) };
      },
      async consume({ consumers, operations, deliveries, book }) {
        const pulling = startPulling({
          consumers,
          book,
          pauseMs: 0,
          async turn(consumer, time) {
            const subscriber = consumer % copies;
            const payloads = loop.take(subscriber, operations);
            if (payloads.length === 0) {
              await time.suspend(loop.nextMessages(), waitingForMessages);
              return false;
            }
            const taken = payloads.map((payload) => deliveries.delivered(payload, consumer));
            await time.suspend(loop.consume(subscriber, payloads.length, time));
            time.resume();
            deliveries.consumed(taken, consumer);
            return time.yield(true);
          },
        });
        return {
          stop() {
            const stopped = pulling.stop();
            loop.wakeConsumers();
            return stopped;
          },
        };
      },
      depth: async (subscriber) => loop.depth(subscriber),
      close: async () => store.close(),
    };
  };
}

type SessionTime = NonNullable<Producer['time']>;

/** Taken messages are removed in steps of this many, because removing each would move the rest. */
const trimmedAt = 100_000;

class Loop {
  readonly #store: GroupStore;
  /** Messages that consumers can take, or have taken since the last trim. The first one has the number `#firstInMemory`. */
  #messages: Buffer[] = [];
  #firstInMemory = 0;
  /** By subscriber, numbers of messages: the next one to be taken, and the first one that is not durably consumed. */
  readonly #heads: number[];
  readonly #consumed: number[];
  /** The group that is filled. */
  #payloads: Buffer[] = [];
  readonly #finished: number[];
  #times: SessionTime[] = [];
  #durable = Promise.withResolvers<void>();
  #arrival = Promise.withResolvers<void>();

  constructor(store: GroupStore, copies: number) {
    this.#store = store;
    this.#heads = Array.from({ length: copies }, () => 0);
    this.#consumed = [...this.#heads];
    this.#finished = [...this.#heads];
  }

  /** Resolves when the messages are durable. */
  enqueue(payloads: readonly Buffer[], time: SessionTime): Promise<void> {
    for (const payload of payloads) this.#payloads.push(payload);
    return this.#join(time);
  }

  /** The next messages, at most `max`. `consume` has to follow in the same turn of the event loop. */
  take(subscriber: number, max: number): Buffer[] {
    const from = this.#heads[subscriber]! - this.#firstInMemory;
    const taken = this.#messages.slice(from, from + max);
    this.#heads[subscriber]! += taken.length;
    return taken;
  }

  /** Resolves when it is durable that the messages that were taken last are consumed. */
  consume(subscriber: number, count: number, time: SessionTime): Promise<void> {
    this.#finished[subscriber]! += count;
    return this.#join(time);
  }

  nextMessages(): Promise<void> {
    return this.#arrival.promise;
  }

  wakeConsumers(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  depth(subscriber: number): number {
    return this.#nextNumber - this.#consumed[subscriber]!;
  }

  get #nextNumber(): number {
    return this.#firstInMemory + this.#messages.length;
  }

  #join(time: SessionTime): Promise<void> {
    if (this.#times.length === 0) setImmediate(() => this.#commit());
    this.#times.push(time);
    time.begin(libraryCall);
    return this.#durable.promise;
  }

  #commit(): void {
    const [payloads, times, durable] = [this.#payloads, this.#times, this.#durable];
    this.#payloads = [];
    this.#times = [];
    this.#durable = Promise.withResolvers();
    try {
      this.#store.write({ first: this.#nextNumber, payloads, consumed: this.#newlyFinished() });
    } catch (error) {
      durable.reject(error);
      return;
    }
    for (const [subscriber, finished] of this.#finished.entries()) this.#consumed[subscriber] = finished;
    this.#trim();
    for (const payload of payloads) this.#messages.push(payload);
    for (const time of times) time.end();
    durable.resolve();
    if (payloads.length > 0) this.wakeConsumers();
  }

  #newlyFinished(): ConsumedRange[] {
    return this.#finished.flatMap((finished, subscriber) => {
      const first = this.#consumed[subscriber]!;
      return finished === first ? [] : { subscriber, first, count: finished - first };
    });
  }

  #trim(): void {
    const taken = Math.min(...this.#heads) - this.#firstInMemory;
    if (taken < trimmedAt) return;
    this.#messages = this.#messages.slice(taken);
    this.#firstInMemory += taken;
  }
}

const lengthBytes = 4;

/** A group's messages as one run of bytes, each after its length. */
export const blockBytesOf = (payloads: readonly Buffer[]): number =>
  payloads.reduce((sum, { length }) => sum + lengthBytes + length, 0);

/** Writes such a run into `target` from `start` on; it must have room for it. */
export function writeBlock(payloads: readonly Buffer[], target: Buffer, start = 0): void {
  let at = start;
  for (const payload of payloads) {
    target.writeUInt32LE(payload.length, at);
    target.set(payload, at + lengthBytes);
    at += lengthBytes + payload.length;
  }
}

/** A buffer of at least this many bytes: the given one, if it is large enough. */
export const roomFor = (bytes: number, buffer: Buffer): Buffer =>
  bytes <= buffer.length ? buffer : Buffer.allocUnsafe(2 ** Math.ceil(Math.log2(bytes)));
