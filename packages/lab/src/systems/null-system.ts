/**
 * No queue system, only arrays in memory that survive nothing: measures what the lab's own client costs, which creates and
 * checks every message.
 */
import type { OpenClient } from './driver/driver.ts';
import { startPulling } from './driver/pull-consumers.ts';

/** Consumed messages are removed in steps of this many, because removing each would move the rest. */
const trimmedAt = 100_000;

class List {
  #messages: Buffer[] = [];
  /** Index of the next message; those before it are consumed. */
  #start = 0;

  push(payloads: readonly Buffer[]): void {
    for (const payload of payloads) this.#messages.push(payload);
  }

  shift(count: number): Buffer[] {
    const batch = this.#messages.slice(this.#start, this.#start + count);
    this.#start += batch.length;
    if (this.#start > trimmedAt) {
      this.#messages.splice(0, this.#start);
      this.#start = 0;
    }
    return batch;
  }

  get length(): number {
    return this.#messages.length - this.#start;
  }
}

export const open: OpenClient = async ({ queues = 1 }) => {
  const lists = Array.from({ length: queues }, () => new List());
  let producers = 0;
  return {
    stated: 'none',
    async openProducer(book) {
      const list = lists[producers++ % queues]!;
      const time = book.openSession();
      return {
        time,
        async send(payloads) {
          list.push(payloads);
          time.yield(undefined);
        },
      };
    },
    async consume({ consumers, operations, deliveries, book }) {
      return startPulling({
        consumers,
        book,
        pauseMs: 1,
        async turn(consumer, time) {
          const batch = lists[consumer % queues]!.shift(operations);
          const taken = batch.map((payload) => deliveries.delivered(payload, consumer));
          deliveries.consumed(taken, consumer);
          return time.yield(batch.length > 0);
        },
      });
    },
    async depth() {
      return lists.reduce((sum, { length }) => sum + length, 0);
    },
    async close() {},
  };
};
