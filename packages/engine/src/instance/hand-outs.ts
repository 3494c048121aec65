/** Hands messages out and takes them back: the calls of dequeuers, between the readers of the shards and those who wait. */
import { QueueError } from '../core/errors.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { DequeueOptions, Message, ReceiveOptions } from '../types.ts';
import type { Attempts } from './attempts.ts';
import type { BacklogReader } from './backlog-reader.ts';
import { type Delivery, type HandOutSource, messagesOf, receiptOf } from './hand-out.ts';
import type { HandOutLease } from './hand-out-lease.ts';
import type { Shard } from './shard.ts';
import type { ShardReader } from './shard-reader.ts';
import type { ShardedQueue } from './sharded-queue.ts';
import type { TimedHolds } from './timed-holds.ts';

export interface HandOutsOptions extends HandOutSource {
  lease: HandOutLease | undefined;
  reader: BacklogReader;
  holds: TimedHolds<Delivery>;
  attempts: Attempts;
  /** Undefined if it was dropped. */
  queueOf(shard: Shard): ShardedQueue | undefined;
}

type CheckedOptions = DequeueOptions & { max: number; waitMs: number };

export class HandOuts {
  readonly #options: HandOutsOptions;
  #holdNo = 0;

  constructor(options: HandOutsOptions) {
    this.#options = options;
  }

  /** Waits for messages if asked to. `onDelivery` gets each hand-out, of which none if the call fails. */
  handOut(
    queue: ShardedQueue,
    options: CheckedOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    const limited = queue.row.attemptsMax !== null;
    return limited
      ? this.#handOutCounted(queue, options, onDelivery)
      : this.#handOut(queue, options, onDelivery);
  }

  async #handOutCounted(
    queue: ShardedQueue,
    options: CheckedOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    const taken: Delivery[] = [];
    const messages = await this.#handOut(queue, options, (delivery) => taken.push(delivery));
    if (taken.length === 0) return messages;
    try {
      await this.#options.attempts.count(queue.row, taken);
    } catch (error) {
      for (const [reader, own] of Map.groupBy(taken, (delivery) => delivery.reader)) reader.takeBack(own);
      queue.serve();
      throw error;
    }
    for (const delivery of taken) onDelivery(delivery);
    return messages;
  }

  async #handOut(
    queue: ShardedQueue,
    options: CheckedOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    const { reader, lease, queueOf } = this.#options;
    const subscription = queue.subscription(options.subscriber);
    const { readers } = subscription;
    lease?.assertHeld();
    const take = () => {
      if (lease?.held() === false) return []; // calls that wait are served once it is held again
      const messages = this.#take(queue, options, onDelivery);
      for (const each of readers) reader.ahead(each);
      return messages;
    };
    if (subscription.waiters.size === 0) {
      const now = take();
      if (now.length > 0) {
        queue.forwarding?.onCall(true);
        return now;
      }
    }
    if (options.waitMs > 0) {
      this.#assertUndamaged(readers, 'some');
      const waiting = subscription.waiters.wait(take, options.waitMs, options.signal);
      queue.forwarding?.onCall(false);
      const messages = await waiting;
      queue.forwarding?.onCall(true);
      if (messages.length === 0 && options.signal?.aborted !== true) this.#assertUndamaged(readers, 'all');
      return messages;
    }
    // What is there may have to be read first: that is no wait for messages.
    for (let read = reader.under(readers); read !== undefined; read = reader.under(readers)) {
      await read;
      if (queueOf(queue.firstShard) !== queue) throw new QueueError('QUEUE_DROPPED');
      const now = take();
      if (now.length > 0) return now;
    }
    this.#assertUndamaged(readers, 'all');
    queue.forwarding?.onCall(false);
    return [];
  }

  /** Where nothing was found: throws `PARTITION_DAMAGED` unless all, or some, readers have nothing damaged before them. */
  #assertUndamaged(readers: readonly ShardReader[], which: 'all' | 'some'): void {
    const damage = readers.map((reader) => this.#options.reader.damageAhead(reader));
    if (which === 'some' && damage.includes(undefined)) return;
    const first = damage.find((each) => each !== undefined);
    if (first !== undefined) throw first;
  }

  #take(queue: ShardedQueue, options: CheckedOptions, onDelivery: (delivery: Delivery) => void): Message[] {
    const { attempts } = this.#options;
    const { max, subscriber } = options;
    const subscription = queue.subscription(subscriber);
    const messages: Message[] = [];
    for (;;) {
      const out: Delivery[] = [];
      const taken = subscription.take({ max, nextHoldNo: this.#nextHoldNo, out });
      for (const delivery of attempts.sift(queue, out)) {
        onDelivery(delivery);
        messagesOf(delivery, this.#options, messages);
      }
      // All that came may have been handed out too often: then the next ones are to go.
      if (taken === 0 || messages.length > 0) return messages;
    }
  }

  readonly #nextHoldNo = () => {
    this.#holdNo += 1;
    return this.#holdNo;
  };

  /** Hands out under timed holds, each message with a receipt of its own. */
  async receive(
    queue: ShardedQueue,
    options: ReceiveOptions & CheckedOptions & { holdMs: number },
  ): Promise<Message[]> {
    const { holds, epoch } = this.#options;
    const max = Math.min(options.max, holds.assertRoom());
    const messages: Message[] = [];
    await this.handOut(queue, { ...options, max }, (delivery) => {
      for (const one of delivery.reader.holdSingly(delivery)) {
        holds.add({ queue: queue.row, delivery: one, receipt: receiptOf(one, epoch) }, options.holdMs);
        messagesOf(one, this.#options, messages);
      }
    });
    return messages;
  }

  lookUp(row: QueueRow, receipt: string): Message {
    const messages: Message[] = [];
    for (const { delivery } of this.#options.holds.find(row, [receipt])) {
      messagesOf(delivery, this.#options, messages);
    }
    return messages[0]!;
  }

  release(queue: ShardedQueue, receipts: readonly string[]): void {
    const holds = this.#options.holds.find(queue.row, receipts);
    for (const hold of holds) this.#options.holds.end(hold);
    this.giveBack(holds.map((hold) => hold.delivery));
  }

  /** Messages go back to their queues, and to whoever waits there. */
  giveBack(deliveries: readonly Delivery[]): void {
    const { attempts, queueOf } = this.#options;
    for (const [queue, own] of Map.groupBy(deliveries, ({ reader }) => queueOf(reader.shard))) {
      if (queue === undefined) continue; // dropped meanwhile
      attempts.giveBack(queue, own);
      queue.serve();
    }
  }
}
