/** Delivers messages to dequeue calls, and returns to their queue those that were not consumed. */

import { QueueError } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import { registerWaitEvent, type WaitEvent } from '../api/waits.ts';
import { type Delivery, deliveryName, traceDelivery, traceHold } from '../log/delivery.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { Epoch, HoldNumber, Seq } from '../model/ids.ts';
import { ignoreViolation } from '../model/invariant.ts';
import { type ChunkedPayload, RecordMessage, readEnqueuedAtMs, recordEnd } from '../model/message-record.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { streamPayload } from '../payloads/payload-stream.ts';
import type { BacklogReader } from './backlog-reader.ts';
import type { DeliveryLease } from './delivery-lease.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import type { MessageReceiver, ValidDequeueOptions, ValidReceiveOptions } from './queue-engine.ts';
import type { DeliveryEnd, Retries } from './retries.ts';
import type { ShardedQueue } from './sharded-queues.ts';
import type { TimedHolds } from './timed-holds.ts';
import { waitingForMessages } from './waiters.ts';

const backlogRead = registerWaitEvent({
  name: 'backlog read',
  class: 'configuration',
  standsFor: 'db file sequential read',
  about: 'a dequeue: messages that the cache does not hold are read',
});

export interface DispatcherOptions extends DeliverySource {
  epoch: Epoch;
  clock: Clock;
  lease: DeliveryLease | undefined;
  backlogReader: BacklogReader;
  holds: TimedHolds<Delivery>;
  retries: Retries;
  queueOfRow(row: QueueRow): ShardedQueue;
  /** Undefined if it was dropped. */
  queueOfLog(log: MessageLog): ShardedQueue | undefined;
}

export class Dispatcher implements MessageReceiver {
  readonly #options: DispatcherOptions;
  #holdNumber: HoldNumber = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Waits for messages if asked to. `onDelivery` is called for each delivery, and not at all if the call fails. */
  deliver(
    queue: ShardedQueue,
    options: ValidDequeueOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    return queue.countsDeliveries
      ? this.#deliverCounted(queue, options, onDelivery)
      : this.#deliverOrWait(queue, options, onDelivery);
  }

  /** Returns a delivery only after the file has counted it. */
  async #deliverCounted(
    queue: ShardedQueue,
    options: ValidDequeueOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    const deliveries: Delivery[] = [];
    const messages = await this.#deliverOrWait(queue, options, (delivery) => deliveries.push(delivery));
    if (deliveries.length === 0) return messages;
    try {
      await this.#options.retries.recordAttempts(queue.row, deliveries);
    } catch (error) {
      await this.returnDeliveries({ seen: [], unseen: deliveries });
      throw error;
    }
    for (const delivery of deliveries) onDelivery(delivery);
    return messages;
  }

  async #deliverOrWait(
    queue: ShardedQueue,
    options: ValidDequeueOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Message[]> {
    const { backlogReader, lease, queueOfLog } = this.#options;
    const subscription = queue.subscription(options.subscriber);
    const { cursors } = subscription;
    lease?.assertHeld();
    const take = () => {
      if (lease?.isHeld() === false) return []; // waiting calls are served once it is held again
      const messages = this.#takeMessages(queue, options, onDelivery);
      for (const cursor of cursors) if (cursor.needsRead) backlogReader.readAhead(cursor);
      return messages;
    };
    if (!subscription.hasWaiters) {
      const messages = take();
      if (messages.length > 0) {
        options.time?.answer();
        queue.forwarding?.onDequeue(true);
        return messages;
      }
    }
    if (options.waitMs > 0) {
      this.#assertUndamaged(cursors, 'some');
      const waiting = subscription.wait(take, options, this.#eventOfWait(cursors));
      queue.forwarding?.onDequeue(false);
      const messages = await waiting;
      queue.forwarding?.onDequeue(true);
      if (messages.length === 0 && options.signal?.aborted !== true) this.#assertUndamaged(cursors, 'all');
      return messages;
    }
    // Ready messages may be left for the next turn, as many calls wait for them, or have to be read from disk first: neither is a
    // wait for messages.
    for (;;) {
      const { nextServing } = subscription;
      const ready = nextServing ?? backlogReader.pendingRead(cursors);
      if (ready === undefined) break;
      if (nextServing === undefined) options.time?.begin(backlogRead);
      else options.time?.answer(); // it waits for nothing but its turn
      await ready.finally(() => options.time?.end());
      if (queueOfLog(queue.firstLog) !== queue) throw new QueueError('QUEUE_DROPPED');
      const messages = take();
      if (messages.length > 0) return messages;
    }
    this.#assertUndamaged(cursors, 'all');
    options.time?.answer();
    queue.forwarding?.onDequeue(false);
    return [];
  }

  /** The wait event of a call that found nothing: messages are being read from disk, or there are none. */
  #eventOfWait(cursors: readonly SubscriberCursor[]): WaitEvent {
    const isReading = this.#options.backlogReader.pendingRead(cursors) !== undefined;
    return isReading ? backlogRead : waitingForMessages;
  }

  /**
   * Call it when no message was found. Throws `PARTITION_DAMAGED`: with `all` if any cursor has damage ahead, with `some` only if
   * every cursor has.
   */
  #assertUndamaged(cursors: readonly SubscriberCursor[], required: 'all' | 'some'): void {
    const damages = cursors.map((cursor) => this.#options.backlogReader.damageAhead(cursor));
    if (required === 'some' && damages.includes(undefined)) return;
    const first = damages.find((damage) => damage !== undefined);
    if (first !== undefined) throw first;
  }

  #takeMessages(
    queue: ShardedQueue,
    { max: wanted, bytesMax, subscriber, session, capacity }: ValidDequeueOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Message[] {
    const subscription = queue.subscription(subscriber);
    const max = capacity === undefined ? wanted : Math.min(wanted, capacity());
    const messages: Message[] = [];
    for (;;) {
      const out: Delivery[] = [];
      const count = subscription.deliver({ max, session, nextHoldNumber: this.#nextHoldNumber, out });
      const alive = queue.countsDeliveries ? this.#options.retries.divertExhausted(queue, out) : out;
      const deliveries = bytesMax === undefined ? alive : takeWithin(alive, bytesMax);
      const [first] = deliveries;
      if (first !== undefined && queue.latencies?.isDue(first.deliveryCount) === true)
        queue.latencies.add(readEnqueuedAtMs(first.run.buffer, first.start), this.#options.clock.epochMs());
      for (const delivery of deliveries) {
        onDelivery(delivery);
        messagesOf(delivery, this.#options, messages);
      }
      // If all messages that came have used up their attempts, those behind them are next.
      if (count === 0 || messages.length > 0) return messages;
    }
  }

  readonly #nextHoldNumber = () => {
    this.#holdNumber += 1;
    return this.#holdNumber;
  };

  async receive(row: QueueRow, options: ValidReceiveOptions): Promise<Message[]> {
    const { holds, epoch, queueOfRow } = this.#options;
    const queue = queueOfRow(row);
    const capacity = () => holds.assertCapacity();
    const messages: Message[] = [];
    await this.deliver(queue, { ...options, capacity }, (delivery) => {
      for (const single of delivery.cursor.deliveries.holdIndividually(delivery)) {
        const name = deliveryName(single, epoch);
        const receipt = holds.add({ queue: queue.row, delivery: single, name }, options.holdMs);
        messages.push(new HeldMessage(single, this.#options, receipt));
        traceHold('held', single, options.holdMs);
      }
    });
    return messages;
  }

  /** The message under a timed hold. Throws `RECEIPT_STALE`. */
  messageOfReceipt(row: QueueRow, receipt: string): Message {
    const [hold] = this.#options.holds.find(row, [receipt]);
    return new HeldMessage(hold!.delivery, this.#options, receipt);
  }

  async release(row: QueueRow, receipts: readonly string[], how?: ValidReturn): Promise<void> {
    const holds = this.#options.holds.find(row, receipts);
    for (const hold of holds) this.#options.holds.release(hold);
    for (const { delivery } of holds) traceDelivery('released', delivery);
    await this.nack(
      holds.map((hold) => hold.delivery),
      how,
    );
  }

  extend(row: QueueRow, receipts: readonly string[], holdMs: number): void {
    const { holds } = this.#options;
    for (const hold of holds.find(row, receipts)) {
      holds.extend(hold, holdMs);
      traceHold('extended', hold.delivery, holdMs);
    }
  }

  /** Their timed holds have ended. */
  onExpired(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) traceDelivery('expired', delivery);
    void this.nack(deliveries);
  }

  /**
   * Returns messages to their queues: those that a consumer has seen count as delivered, the others do not. These come after
   * them, so that they are redelivered in order. A promise if that waits for a commit; it never rejects.
   */
  returnDeliveries({ seen, unseen }: ReturnedDeliveries, how?: ValidReturn): Promise<void> | undefined {
    const counted = this.nack(seen, how);
    if (counted !== undefined) return counted.then(() => this.#returnUnseen(unseen));
    this.#returnUnseen(unseen);
    return undefined;
  }

  #returnUnseen(unseen: readonly Delivery[]): void {
    const queues = new Set<ShardedQueue>();
    for (const [cursor, ofCursor] of Map.groupBy(unseen, (delivery) => delivery.cursor)) {
      const queue = this.#options.queueOfLog(cursor.log);
      if (queue === undefined) continue; // dropped meanwhile
      cursor.deliveries.cancelDelivery(ofCursor);
      queues.add(queue);
    }
    for (const queue of queues) queue.serveWaiters();
  }

  /**
   * Returns messages to their queues, and delivers them to calls that wait there. A promise if that waits for the commit that
   * counts the delivery; it never rejects.
   */
  nack(deliveries: readonly Delivery[], end?: DeliveryEnd): Promise<void> | undefined {
    const { retries, queueOfLog } = this.#options;
    const counting: Promise<void>[] = [];
    for (const [queue, ofQueue] of Map.groupBy(deliveries, ({ cursor }) => queueOfLog(cursor.log))) {
      if (queue === undefined) continue; // dropped meanwhile
      const counted = retries.nack(queue, ofQueue, end);
      if (counted === undefined) queue.serveWaiters();
      else counting.push(counted.then(() => queue.serveWaiters()));
    }
    if (counting.length === 0) return undefined;
    return Promise.all(counting).then(() => undefined, ignoreViolation);
  }
}

/** The deliveries from the first on that have at most so many bytes, and one message at least. The others are cancelled. */
function takeWithin(deliveries: readonly Delivery[], bytesMax: number): Delivery[] {
  const taken: Delivery[] = [];
  let left = bytesMax;
  for (const [index, delivery] of deliveries.entries()) {
    left -= delivery.end - delivery.start;
    if (left >= 0) {
      taken.push(delivery);
      continue;
    }
    const fitting = Math.max(
      countWithin(delivery, left + delivery.end - delivery.start),
      index === 0 ? 1 : 0,
    );
    const surplus = deliveries.slice(index + 1);
    if (fitting === 0) surplus.unshift(delivery);
    else if (fitting === delivery.count) taken.push(delivery);
    else {
      const [first, rest] = delivery.cursor.deliveries.splitHeld(delivery, fitting);
      taken.push(first);
      surplus.unshift(rest);
    }
    for (const [cursor, ofCursor] of Map.groupBy(surplus, (each) => each.cursor))
      cursor.deliveries.cancelDelivery(ofCursor);
    break;
  }
  return taken;
}

/** How many messages of a delivery, from its first on, have at most so many bytes. */
function countWithin({ run, start, count }: Delivery, bytes: number): number {
  let end = start;
  for (let fitting = 0; fitting < count; fitting += 1) {
    end = recordEnd(run.buffer, end);
    if (end - start > bytes) return fitting;
  }
  return count;
}

export interface ReturnedDeliveries {
  seen: readonly Delivery[];
  unseen: readonly Delivery[];
}

/** Parts of the instance that every delivered message needs. */
export interface DeliverySource {
  payloads: PayloadStore;
}

/** Appends the messages of a delivery to `out`, in order. */
export function messagesOf(delivery: Delivery, source: DeliverySource, out: Message[]): void {
  const { buffer } = delivery.run;
  const end = delivery.firstSeq + delivery.count;
  let offset = delivery.start;
  for (let seq = delivery.firstSeq; seq < end; seq += 1) {
    out.push(new DeliveredMessage(delivery, source, seq, offset));
    offset = recordEnd(buffer, offset);
  }
}

/** A delivered message. A server sends it as bytes, together with the others of its delivery (`server/send-deliveries.ts`). */
export class DeliveredMessage extends RecordMessage {
  readonly delivery: Delivery;
  readonly #source: DeliverySource;

  constructor(delivery: Delivery, source: DeliverySource, seq: Seq, start: number) {
    super(seq, delivery.run.buffer, start);
    this.delivery = delivery;
    this.#source = source;
  }

  protected override get idPrefix(): string {
    return `${this.delivery.cursor.log.id}.`;
  }

  override get receipt(): string {
    return '';
  }

  override get deliveryCount(): number {
    return this.delivery.deliveryCount;
  }

  protected override streamPayload(payload: ChunkedPayload | Buffer): ReturnType<Message['payloadStream']> {
    return streamPayload(payload, (chunk) => this.#source.payloads.readChunk(chunk));
  }
}

/** A message under a timed hold of its own. */
class HeldMessage extends DeliveredMessage {
  readonly #receipt: string;

  constructor(delivery: Delivery, source: DeliverySource, receipt: string) {
    super(delivery, source, delivery.firstSeq, delivery.start);
    this.#receipt = receipt;
  }

  override get receipt(): string {
    return this.#receipt;
  }
}
