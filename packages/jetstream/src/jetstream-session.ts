/** A session on JetStream: the engine's calls, with what the servers cannot do refused before anything is done. */

import { nuid } from '@nats-io/transport-node';
import {
  type ClientSession,
  type CommitOptions,
  type CommitResult,
  type Consumer,
  type DequeueOptions,
  type EnqueueResult,
  type Message,
  type NewMessage,
  type Producer,
  QueueError,
  type ReceiveOptions,
  type ReturnOptions,
  type SqlResult,
} from '@shardlab/engine';
import {
  assertName,
  assertNewMessage,
  assertTexts,
  assertTransactionSize,
  endOfFailedCommit,
  hashGroupKey,
  messagesWithin,
  receiveFields,
  recordBytes,
  SessionGuard,
  type ValidatedDequeueOptions,
  type ValidReturn,
  validateCommitOptions,
  validateDequeueOptions,
  validateHoldMs,
  validateReturn,
  validateSubscriber,
} from '@shardlab/engine/store-rules';
import { unsupported } from './capabilities.ts';
import type { Deliveries, Delivery } from './deliveries.ts';
import { encodeHeaders } from './message-coding.ts';
import { toMessage } from './message-view.ts';
import { type OutgoingMessage, publishMessages } from './publish-messages.ts';
import type { QueueCatalog } from './queue-catalog.ts';
import { canDelay, type QueueRow } from './queue-config.ts';
import type { ServerLink } from './server-link.ts';
import type { ShardBindings } from './shard-bindings.ts';
import { storeLimits } from './store-limits.ts';
import { delayedSubject, shardSubject, streamOf } from './stream-names.ts';
import type { TakenHolds, TimedHolds } from './timed-holds.ts';

const holdMsDefault = 30_000;

/** Parts that all sessions of a store share. */
export interface SessionContext {
  link: ServerLink;
  catalog: QueueCatalog;
  deliveries: Deliveries;
  timedHolds: TimedHolds;
  shards: ShardBindings;
  /** Whether a transaction may consume and enqueue, and then enqueues first. */
  enqueuesFirst: boolean;
  outcomeMs: number;
  onClosed(session: JetStreamSession): void;
}

interface Enqueued {
  queue: string;
  message: NewMessage;
  id: string;
}

interface Acknowledged {
  queue: string;
  receipts: string[];
}

export class JetStreamSession implements ClientSession {
  readonly id = nuid.next();
  readonly #context: SessionContext;
  readonly #guard: SessionGuard;
  #enqueued: Enqueued[] = [];
  #bytes = 0;
  #messages = 0;
  #dequeued: Delivery[] = [];
  #acknowledged: Acknowledged[] = [];

  constructor(context: SessionContext) {
    this.#context = context;
    this.#guard = new SessionGuard(this.id);
  }

  enqueue(queue: string, message: NewMessage): void {
    this.#guard.assertFree();
    assertName('queue', queue);
    assertNewMessage(message);
    if ((message.priority ?? 0) > 0) throw unsupported('priorities');
    const bytes = recordBytes(message);
    assertTransactionSize(this.#enqueued.length + 1, this.#bytes + bytes);
    const bytesMax = this.#context.link.messageBytesMax;
    const headerBytes = Math.min(storeLimits.headerBytesMax, bytesMax / 8);
    if (bytes > bytesMax - headerBytes) {
      throw new QueueError('PAYLOAD_TOO_LARGE', {
        message: `The message has ${bytes} bytes; the servers take ${bytesMax - headerBytes} (max_payload)`,
        details: { bytes, bytesMax: bytesMax - headerBytes },
      });
    }
    this.#messages += 1;
    this.#enqueued.push({ queue, message, id: `${this.id}.${this.#messages}` });
    this.#bytes += bytes;
  }

  async enqueueNow(): Promise<EnqueueResult> {
    throw unsupported('bufferedQueues');
  }

  async enqueueStream(): Promise<{ bytes: number }> {
    throw unsupported('streamedPayloads');
  }

  async dequeueNow(): Promise<Message[]> {
    throw unsupported('bufferedQueues');
  }

  async openConsumer(): Promise<Consumer> {
    throw unsupported('pipelines');
  }

  openProducer(): Producer {
    throw unsupported('pipelines');
  }

  execute(): void {
    throw unsupported('sqlRows');
  }

  async query(): Promise<SqlResult> {
    throw unsupported('sqlRows');
  }

  async dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#guard.assertFree();
    return this.#guard.run(this.#dequeue(queue, options));
  }

  async #dequeue(queue: string, options: DequeueOptions): Promise<Message[]> {
    const deliveries = await this.#take(queue, validateDequeueOptions(options));
    this.#dequeued.push(...deliveries);
    return deliveries.map((delivery) => toMessage(delivery, ''));
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    this.#guard.assertFree();
    const validated = validateDequeueOptions(options, receiveFields);
    const holdMs = validateHoldMs(options.holdMs ?? holdMsDefault);
    return this.#guard.run(this.#receive(queue, validated, holdMs));
  }

  async #receive(
    queue: string,
    options: ValidatedDequeueOptions & Pick<ReceiveOptions, 'bytesMax'>,
    holdMs: number,
  ): Promise<Message[]> {
    const { max, bytesMax } = options;
    // A batch of the servers knows no bound of bytes that its first message may pass.
    const most = bytesMax === undefined ? max : Math.min(max, messagesWithin(bytesMax));
    const deliveries = await this.#take(queue, { ...options, max: most });
    return deliveries.map((delivery) => toMessage(delivery, this.#context.timedHolds.add(delivery, holdMs)));
  }

  async #take(queue: string, options: ValidatedDequeueOptions): Promise<Delivery[]> {
    const { max, waitMs, subscriber, signal } = options;
    const { catalog, deliveries } = this.#context;
    const row = await catalog.row(queue);
    validateSubscriber({ name: row.name, type: row.type }, subscriber);
    const request = { max, waitMs, ...(subscriber !== undefined && { subscriber }) };
    return deliveries.take(queue, request, this.#guard.waitSignal(signal));
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#guard.assertFree();
    assertName('queue', queue);
    assertTexts('receipts', receipts);
    this.#acknowledged.push({ queue, receipts: [...receipts] });
  }

  async release(queue: string, receipts: string[], options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    assertName('queue', queue);
    assertTexts('receipts', receipts);
    const how = validateReturn(options);
    const { deliveries, timedHolds } = this.#context;
    await this.#guard.run(
      (async () => {
        await deliveries.nack(timedHolds.take(queue, receipts).deliveries, how);
      })(),
    );
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#guard.assertFree();
    assertName('queue', queue);
    assertTexts('receipts', receipts);
    this.#context.timedHolds.extend(queue, receipts, validateHoldMs(holdMs));
  }

  async messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    this.#guard.assertFree();
    assertName('queue', queue);
    assertName('receipt', receipt);
    const [delivery] = this.#context.timedHolds.get(queue, [receipt]);
    return toMessage(delivery!, receipt);
  }

  async commit(options?: CommitOptions): Promise<CommitResult> {
    this.#guard.assertFree();
    const idempotencyKey = validateCommitOptions(options);
    return this.#guard.run(this.#commit(idempotencyKey));
  }

  /** One call after the other: the servers have no request for both. */
  async commitAndDequeue(queue: string, options: DequeueOptions = {}) {
    this.#guard.assertFree();
    assertName('queue', queue);
    validateDequeueOptions(options);
    const committed = await this.commit();
    return { committed, messages: await this.dequeue(queue, options) };
  }

  async #commit(idempotencyKey: string | undefined): Promise<CommitResult> {
    const enqueued = this.#enqueued;
    const dequeued = this.#dequeued;
    const acknowledged = this.#acknowledged;
    this.#reset();
    const { deliveries } = this.#context;
    let received: TakenHolds[] = [];
    try {
      if (idempotencyKey !== undefined) throw unsupported('idempotencyKeys');
      const consumes = dequeued.length > 0 || acknowledged.length > 0;
      if (enqueued.length > 0 && consumes && !this.#context.enqueuesFirst)
        throw unsupported('consumeAndEnqueue');
      const outgoing = await this.#prepare(enqueued);
      this.#assertHeld(dequeued);
      // Before anything is stored: a hold that ended during the publish would make the commit fail as if it had changed nothing.
      received = this.#takeReceived(acknowledged);
      if (outgoing.length > 0) {
        await publishMessages(
          this.#context.link,
          streamOf(enqueued[0]!.queue),
          outgoing,
          this.#context.outcomeMs,
        );
      }
    } catch (error) {
      for (const holds of received) holds.restore();
      await deliveries.nack(dequeued, endOfFailedCommit(error)).catch(() => undefined); // they return when their time is up
      throw error;
    }
    await this.#consume([...dequeued, ...received.flatMap((holds) => holds.deliveries)], enqueued);
    return { ids: enqueued.map(({ id }) => id), results: [], replayed: false };
  }

  /** Throws `RECEIPT_STALE`; then no hold is taken. */
  #takeReceived(acknowledged: readonly Acknowledged[]): TakenHolds[] {
    const { timedHolds } = this.#context;
    const byQueue = joined(acknowledged);
    for (const { queue, receipts } of byQueue) timedHolds.get(queue, receipts);
    return byQueue.map(({ queue, receipts }) => timedHolds.take(queue, receipts));
  }

  /** Throws only `COMMIT_OUTCOME_UNKNOWN`: the messages of the transaction are enqueued, and some may be consumed. */
  async #consume(consumed: readonly Delivery[], enqueued: readonly Enqueued[]): Promise<void> {
    let unknown: readonly Delivery[];
    let cause: unknown;
    try {
      unknown = await this.#context.deliveries.consume(consumed);
    } catch (error) {
      unknown = consumed;
      cause = error;
    }
    if (unknown.length === 0) return;
    throw new QueueError('COMMIT_OUTCOME_UNKNOWN', {
      message: 'The servers have not confirmed in time that all messages are consumed',
      ...(cause !== undefined && { cause }),
      details: {
        enqueued: enqueued.map(({ id }) => id),
        consumed: consumed.filter((delivery) => !unknown.includes(delivery)).map(({ stored }) => stored.id),
        unknown: unknown.map(({ stored }) => stored.id),
      },
    });
  }

  /** A dequeued message whose hold has ended is ready again, or another session has it. */
  #assertHeld(dequeued: readonly Delivery[]): void {
    const lost = dequeued.filter(({ hold }) => !this.#context.deliveries.holds.isValid(hold));
    if (lost.length > 0)
      throw new QueueError('TX_NOT_COMMITTED', { details: { lost: lost.map(({ stored }) => stored.id) } });
  }

  async #prepare(enqueued: readonly Enqueued[]): Promise<OutgoingMessage[]> {
    const [first] = enqueued;
    if (first === undefined) return [];
    if (enqueued.some(({ queue }) => queue !== first.queue)) throw unsupported('enqueueToSeveralQueues');
    if (enqueued.length > storeLimits.batchMessagesMax) {
      throw new QueueError('TX_TOO_LARGE', {
        message: `A transaction can enqueue ${storeLimits.batchMessagesMax} messages on NATS JetStream`,
        details: { operations: enqueued.length, operationsMax: storeLimits.batchMessagesMax },
      });
    }
    const row = await this.#context.catalog.row(first.queue);
    if (!row.enqueueEnabled) throw new QueueError('ENQUEUE_STOPPED', { details: { queue: row.name } });
    await this.#assertRecipients(row, enqueued);
    return enqueued.map((each) => this.#encode(row, each));
  }

  async #assertRecipients(row: QueueRow, enqueued: readonly Enqueued[]): Promise<void> {
    const named = new Set(enqueued.flatMap(({ message }) => message.recipients ?? []));
    if (named.size === 0) return;
    if (row.type === 'queue') {
      throw new QueueError('MESSAGE_INVALID', {
        message: `${row.name} is a queue: its messages cannot have recipients`,
      });
    }
    for (const { name } of await this.#context.catalog.subscribers(row.name)) named.delete(name);
    const [missing] = named;
    if (missing !== undefined) {
      throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { queue: row.name, subscriber: missing } });
    }
  }

  #encode(row: QueueRow, { message, id }: Enqueued): OutgoingMessage {
    const { payload, delayMs = 0, groupKey } = message;
    const shard =
      groupKey === undefined
        ? this.#context.shards.shardFor(this.id, row.name, row.shards)
        : hashGroupKey(groupKey) % row.shards;
    const subject = shardSubject(row.name, shard);
    if (delayMs === 0) return { subject, payload, headers: encodeHeaders(id, message) };
    if (row.type === 'topic') throw unsupported('delayOnTopics');
    if (!canDelay(row))
      throw unsupported('delay', `${row.name} has a bound in bytes: its messages cannot be delayed`);
    const now = Date.now();
    const kept = { enqueuedAtMs: now, due: { dueAtMs: now + delayMs, target: subject } };
    return { subject: delayedSubject(row.name, id), payload, headers: encodeHeaders(id, message, kept) };
  }

  async rollback(options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    await this.#guard.run(this.#rollback(validateReturn(options)));
  }

  /** Messages whose return the servers do not confirm are ready when their time is up. */
  async #rollback(how?: ValidReturn): Promise<void> {
    const dequeued = this.#dequeued;
    this.#reset();
    await this.#context.deliveries.nack(dequeued, how).catch(() => undefined);
  }

  #reset(): void {
    this.#enqueued = [];
    this.#bytes = 0;
    this.#dequeued = [];
    this.#acknowledged = [];
  }

  async close(): Promise<void> {
    if (!this.#guard.beginClose()) return;
    await this.#guard.whenIdle();
    await this.#rollback();
    this.#context.shards.unbind(this.id);
    this.#context.onClosed(this);
  }
}

/** Merges the receipts of several calls into one list for each queue, so that duplicates are found. */
function joined(acknowledged: readonly Acknowledged[]): Acknowledged[] {
  const byQueue = new Map<string, string[]>();
  for (const { queue, receipts } of acknowledged) {
    byQueue.set(queue, [...(byQueue.get(queue) ?? []), ...receipts]);
  }
  return [...byQueue].map(([queue, receipts]) => ({ queue, receipts }));
}
