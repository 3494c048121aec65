/** Deliveries of queues and subscribers: fetched, passed over or moved to the exception queue, consumed and given back. */
import { QueueError } from '@shardlab/engine';
import {
  attemptsUsedUp,
  countsOnDelivery,
  type DeliveryEnd,
  exceptionQueueName,
  RecentFailures,
  retryDelayOf,
  withExceptionReason,
} from '@shardlab/engine/store-rules';
import { type Hold, Holds } from './holds.ts';
import { decodeMessage, encodeHeaders, type StoredMessage } from './message-coding.ts';
import { publishMessages } from './publish-messages.ts';
import { MessagePuller, type PulledMessage } from './pull-messages.ts';
import type { QueueCatalog } from './queue-catalog.ts';
import type { QueueRow } from './queue-config.ts';
import type { ServerLink } from './server-link.ts';
import { shardSubject, streamOf } from './stream-names.ts';

export interface Delivery {
  queue: string;
  subscriber: string | undefined;
  stored: StoredMessage;
  deliveryCount: number;
  hold: Hold;
}

export interface DeliveryRequest {
  max: number;
  waitMs: number;
  subscriber?: string;
}

export class Deliveries {
  readonly holds: Holds;
  readonly #link: ServerLink;
  readonly #catalog: QueueCatalog;
  readonly #prefetch: number;
  readonly #outcomeMs: number;
  readonly #pullers = new Map<string, MessagePuller>();
  /** Of messages that this store delivered. */
  readonly #failures = new RecentFailures();

  constructor(link: ServerLink, catalog: QueueCatalog, options: { prefetch: number; outcomeMs: number }) {
    this.#link = link;
    this.#catalog = catalog;
    this.#prefetch = options.prefetch;
    this.#outcomeMs = options.outcomeMs;
    this.holds = new Holds(link);
  }

  /** Rejects with `DEQUEUE_STOPPED`, and what `MessagePuller.pull` does. */
  async take(queue: string, request: DeliveryRequest, signal: AbortSignal): Promise<Delivery[]> {
    const { max, waitMs, subscriber } = request;
    const until = performance.now() + waitMs;
    while (true) {
      const row = await this.#openRow(queue);
      const pulled = await this.#pull(
        row,
        { max, waitMs: Math.max(0, until - performance.now()) },
        subscriber,
        signal,
      );
      const deliveries = await this.#accept(row, pulled, subscriber);
      if (deliveries.length > 0 || pulled.length === 0 || signal.aborted) return deliveries;
    }
  }

  /**
   * The deliveries that are for the caller: of the others, messages for other subscribers are consumed, and those whose attempts
   * are used up move to the exception queue.
   */
  async #accept(
    row: QueueRow,
    pulled: readonly { message: PulledMessage; ackWaitMs: number }[],
    subscriber: string | undefined,
  ): Promise<Delivery[]> {
    const holds = pulled.map(({ message, ackWaitMs }) => this.holds.add(message, ackWaitMs));
    const deliveries: Delivery[] = [];
    try {
      for (const hold of holds) {
        const { raw, streamSequence: sequence, storedAtMs, deliveryCount } = hold.message;
        const stored = decodeMessage(raw.headers, raw.data, { sequence, storedAtMs });
        const delivery = { queue: row.name, subscriber, stored, deliveryCount, hold };
        if (subscriber !== undefined && stored.recipients?.includes(subscriber) === false) {
          await this.holds.consume(hold, this.#outcomeMs);
        } else if (countsOnDelivery(row) && deliveryCount > row.attemptsMax!) {
          await this.#moveToExceptions(row, delivery, false);
        } else deliveries.push(delivery);
      }
    } catch (error) {
      // The caller gets none of them. A hold that is kept is prolonged for ever, and its message never delivered again.
      for (const hold of holds) this.holds.forget(hold);
      throw error;
    }
    return deliveries;
  }

  async #openRow(queue: string): Promise<QueueRow> {
    const row = await this.#catalog.row(queue);
    if (!row.dequeueEnabled) throw new QueueError('DEQUEUE_STOPPED', { details: { queue } });
    return row;
  }

  async #pull(
    row: QueueRow,
    { max, waitMs }: DeliveryRequest,
    subscriber: string | undefined,
    signal: AbortSignal,
  ): Promise<{ message: PulledMessage; ackWaitMs: number }[]> {
    try {
      const target = await this.#catalog.consumer(row.name, subscriber);
      const key = pullerKey(row.name, subscriber);
      let puller = this.#pullers.get(key);
      // A consumer that was read anew may be another one of that name, led by another server.
      if (puller?.target !== target) {
        // A prefetched message counts as delivered. Where that alone can move it, it must not.
        const prefetch = countsOnDelivery(row) ? 0 : this.#prefetch;
        puller = new MessagePuller(this.#link, target, { ackWaitMs: target.ackWaitMs, prefetch });
        this.#pullers.set(key, puller);
      }
      const messages = await puller.pull(max, waitMs, signal, async () => {
        await this.#openRow(row.name);
      });
      return messages.map((message) => ({ message, ackWaitMs: target.ackWaitMs }));
    } catch (error) {
      if (error instanceof QueueError && error.code === 'SUBSCRIBER_NOT_FOUND') {
        this.#catalog.forgetConsumer(row.name);
        if (subscriber === undefined) throw new QueueError('QUEUE_DROPPED', { cause: error });
      }
      throw error;
    }
  }

  /** Stores the message in the exception queue under an id derived from its own, so that an interrupted move is not made twice. */
  async #moveToExceptions(row: QueueRow, delivery: Delivery, rejected: boolean): Promise<void> {
    const { stored, hold, deliveryCount } = delivery;
    const target = exceptionQueueName(row.name);
    const attempts = countsOnDelivery(row) ? Math.min(deliveryCount, row.attemptsMax!) : deliveryCount;
    const failures = this.#failures.get(failureKey(delivery));
    const fields = withExceptionReason(stored, { queue: row.name, attempts, rejected, failures });
    await this.#catalog.ensureExceptionQueue(row);
    const message = {
      subject: shardSubject(target, 0),
      payload: stored.payload,
      headers: encodeHeaders(stored.id, fields),
    };
    await publishMessages(this.#link, streamOf(target), [message], this.#outcomeMs);
    await this.holds.consume(hold, this.#outcomeMs);
    this.#failures.forget([delivery], failureKey);
  }

  /**
   * Returns messages to their queue, in this order; those that are rejected, or whose attempts are used up, move to the exception
   * queue. A message that
   * a former leader delivered is not returned: it becomes ready when its time is up, or may be delivered to another session
   * already. Rejects with `INSTANCE_UNREACHABLE` if no server confirms.
   */
  async nack(deliveries: readonly Delivery[], end: DeliveryEnd = {}): Promise<void> {
    const leaders = new Map<string, string>();
    try {
      for (const { queue, subscriber } of deliveries) {
        const key = pullerKey(queue, subscriber);
        if (!leaders.has(key)) leaders.set(key, await this.#pullers.get(key)!.currentLeader());
      }
    } catch (error) {
      for (const { hold } of deliveries) this.holds.forget(hold);
      throw error;
    }
    const returns = deliveries.map(async (delivery) => {
      const { queue, subscriber, hold } = delivery;
      try {
        const row = await this.#catalog.row(queue);
        const isOurs = leaders.get(pullerKey(queue, subscriber)) === hold.message.leader;
        if (isOurs) await this.#return(row, delivery, end);
      } finally {
        this.holds.forget(hold); // also after a failure: its message is ready again when its time is up
      }
    });
    const failed = (await Promise.allSettled(returns)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #return(row: QueueRow, delivery: Delivery, end: DeliveryEnd): Promise<void> {
    const { deliveryCount, hold } = delivery;
    const { reject = false, isOutage = false } = end;
    if (!isOutage) this.#failures.add(failureKey(delivery), end, Date.now());
    const isExhausted = !isOutage && (reject || attemptsUsedUp(deliveryCount, row.attemptsMax));
    if (isExhausted && this.holds.isValid(hold)) return this.#moveToExceptions(row, delivery, reject);
    return this.holds.nack(hold, retryDelayOf(row, deliveryCount, end));
  }

  /**
   * Consumes each message by itself. Returns those whose consumption the servers have not confirmed in time. A confirmation
   * counts only if the consumer had the same leader from before the delivery until after the confirmation: another leader may
   * have delivered the message to another session, and it would be unknown which of the two consumed it.
   */
  async consume(deliveries: readonly Delivery[]): Promise<Delivery[]> {
    const confirmed = await Promise.all(
      deliveries.map(({ hold }) => this.holds.consume(hold, this.#outcomeMs)),
    );
    const unknown = deliveries.filter((_, index) => !confirmed[index]);
    const byConsumer = Map.groupBy(
      deliveries.filter((_, index) => confirmed[index]),
      ({ queue, subscriber }) => pullerKey(queue, subscriber),
    );
    for (const [key, ofConsumer] of byConsumer) {
      const leader = await this.#pullers
        .get(key)!
        .currentLeader()
        .catch(() => undefined);
      unknown.push(...ofConsumer.filter(({ hold }) => hold.message.leader !== leader));
    }
    this.#failures.forget(deliveries, failureKey);
    return unknown;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pullers.values()].map((puller) => puller.releasePrefetched()));
    this.holds.close();
  }
}

const failureKey = ({ queue, subscriber, hold }: Delivery) =>
  `${queue} ${subscriber ?? ''} ${hold.message.streamSequence}`;

const pullerKey = (queue: string, subscriber: string | undefined) => `${queue} ${subscriber ?? ''}`;
