/**
 * Delivers messages of unsharded queues to the calls of dequeuers. A call that finds none waits, and is served in the order of
 * arrival once messages may have come: after a write of this process, when the writes announce it, or when a poll sees that
 * another process has committed.
 */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { Message } from '../api/message.ts';
import type { QueueId, SubscriberId } from '../model/ids.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { countsOnDelivery } from '../model/retry-life.ts';
import type { RecordedTime, WaitRecorder } from '../model/wait-recorder.ts';
import { DeliveryLatencies } from '../queues/delivery-latencies.ts';
import type { ValidDequeueOptions } from '../queues/queue-engine.ts';
import { type Waiter, Waiters } from '../queues/waiters.ts';
import type { MessageConsumer } from '../storage/unsharded/message-consumer.ts';
import type { ClaimedRow } from '../storage/unsharded/unsharded-file.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import { UnshardedDelivery } from './unsharded-delivery.ts';
import { UnshardedMessage } from './unsharded-message.ts';
import type { UnshardedRetries } from './unsharded-retries.ts';
import type { ClaimingCall, UnshardedWrites } from './unsharded-writes.ts';

export interface UnshardedDispatcherOptions {
  file: LazyUnshardedFile;
  writes: UnshardedWrites;
  retries: Pick<UnshardedRetries, 'begin'>;
  waits: WaitRecorder;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

interface ClaimRequest {
  queue: QueueRow;
  /** Name of the subscriber; undefined for a queue. */
  subscriber: string | undefined;
  /** How many messages it can take at the moment. Throws why none. */
  max(): number;
  bytesMax: number | undefined;
  onDelivery(delivery: UnshardedDelivery, message: Message): void;
}

/** The calls that wait for messages of one queue, or of a topic for one subscriber. */
interface WaitingLine {
  readonly consumer: MessageConsumer;
  readonly waiters: Waiters<ClaimRequest>;
  /** Calls that wait or are about to. A line without any is forgotten: temporary subscribers come and go. */
  calls: number;
  isServed: boolean;
  /** A message may have arrived since the calls began to be served. */
  mayHaveMore: boolean;
}

/** Milliseconds between checks for commits of other processes while calls wait. */
const commitPollMs = 2;

export class UnshardedDispatcher {
  readonly #options: UnshardedDispatcherOptions;
  readonly #writes: UnshardedWrites;
  readonly #linesByQueue = new Map<QueueId, Map<SubscriberId, WaitingLine>>();
  /** Latencies of queues for which they were requested. */
  readonly #latencies = new Map<QueueId, DeliveryLatencies>();
  /** How often messages were announced. */
  #readyNotices = 0;
  #poll: Timer | undefined;
  #version = 0;

  constructor(options: UnshardedDispatcherOptions) {
    this.#options = options;
    this.#writes = options.writes;
  }

  /** Polls the file, which has been opened, unless the writes announce what others commit. */
  startPolling(): void {
    if (!this.#writes.announcesReady)
      this.#poll = this.#options.ports.timers.every(commitPollMs, () => this.#pollForCommits());
  }

  #pollForCommits(): void {
    let waiting = false;
    for (const { waiters } of this.#allLines()) waiting ||= waiters.size > 0;
    if (!waiting) return;
    try {
      const version = this.#options.file.opened.dataVersion();
      if (version === this.#version) return;
      this.#version = version;
    } catch {
      // Serving meets the same error and reports it to the callers that wait.
    }
    this.serveAll();
  }

  /** `subscriber`: of a topic; 0 for a queue. */
  async deliver(
    queue: QueueRow,
    subscriber: SubscriberId,
    options: ValidDequeueOptions,
    onDelivery: ClaimRequest['onDelivery'],
  ): Promise<Message[]> {
    const line = this.#lineOf(queue, subscriber);
    line.calls += 1;
    try {
      const { subscriber: name, max: wanted, bytesMax, capacity } = options;
      const max = () => (capacity === undefined ? wanted : Math.min(wanted, capacity()));
      return await this.#deliverOrWait(line, { queue, subscriber: name, max, bytesMax, onDelivery }, options);
    } finally {
      line.calls -= 1;
      this.#forgetUnused(line);
    }
  }

  async #deliverOrWait(
    line: WaitingLine,
    request: ClaimRequest,
    options: ValidDequeueOptions,
  ): Promise<Message[]> {
    const { consumer, waiters } = line;
    const noticesBefore = this.#readyNotices;
    if (waiters.size === 0 || this.#writes.announcesReady) {
      const messages = await this.#claim(consumer, request, options.time);
      if (messages.length > 0) return messages;
    }
    if (options.waitMs === 0) {
      options.time?.answer();
      return [];
    }
    const messages = waiters.wait(request, options);
    // A message may have arrived between the check and the wait.
    if (!this.#writes.announcesReady || this.#readyNotices !== noticesBefore) void this.#serve(line);
    return await messages;
  }

  async #claim(
    consumer: MessageConsumer,
    request: ClaimRequest,
    time: RecordedTime | undefined,
  ): Promise<Message[]> {
    for (;;) {
      const bounds = { max: request.max(), bytesMax: request.bytesMax };
      const rows = await this.#writes.claim(consumer, bounds, time);
      const messages = this.#toMessages(request, rows);
      // Behind messages whose attempts are used up there may be others.
      if (messages.length > 0 || rows.length === 0) return messages;
    }
  }

  /** Leaves out messages whose attempts are used up. */
  #toMessages({ queue, subscriber = '', onDelivery }: ClaimRequest, rows: readonly ClaimedRow[]): Message[] {
    const messages: Message[] = [];
    for (const row of rows) {
      const delivery = new UnshardedDelivery(queue, subscriber, row);
      if (!this.#options.retries.begin(delivery)) continue;
      const message = new UnshardedMessage(row);
      onDelivery(delivery, message);
      messages.push(message);
    }
    const [first] = messages;
    const latencies = this.#latencies.get(queue.queueId);
    if (first !== undefined && latencies?.isDue(first.deliveryCount) === true)
      latencies.add(first.enqueuedAtMs, this.#options.ports.clock.epochMs());
    return messages;
  }

  /** Latencies of deliveries by this process, measured from the first call on. */
  latenciesOf(queueId: QueueId): DeliveryLatencies {
    let latencies = this.#latencies.get(queueId);
    if (latencies === undefined) {
      latencies = new DeliveryLatencies();
      this.#latencies.set(queueId, latencies);
    }
    return latencies;
  }

  #lineOf(queue: QueueRow, subscriber: SubscriberId): WaitingLine {
    const { queueId, durability } = queue;
    let ofQueue = this.#linesByQueue.get(queueId);
    if (ofQueue === undefined) {
      ofQueue = new Map();
      this.#linesByQueue.set(queueId, ofQueue);
    }
    let line = ofQueue.get(subscriber);
    if (line === undefined) {
      const { waits, ports } = this.#options;
      const countsAttempts = countsOnDelivery(queue) && durability === 'durable';
      const consumer = { queueId, subscriber, countsAttempts };
      line = { consumer, waiters: new Waiters(waits, ports), calls: 0, isServed: false, mayHaveMore: false };
      ofQueue.set(subscriber, line);
    }
    return line;
  }

  #forgetUnused(line: WaitingLine): void {
    const { queueId, subscriber } = line.consumer;
    const ofQueue = this.#linesByQueue.get(queueId);
    if (line.calls > 0 || line.isServed || ofQueue?.get(subscriber) !== line) return;
    ofQueue.delete(subscriber);
    if (ofQueue.size === 0) this.#linesByQueue.delete(queueId);
  }

  *#allLines(): Generator<WaitingLine> {
    for (const ofQueue of this.#linesByQueue.values()) yield* ofQueue.values();
  }

  /** The writes announce that these queues have got messages; null: perhaps all. */
  onReady(queueIds: readonly QueueId[] | null): void {
    this.#readyNotices += 1;
    this.serveAll(queueIds ?? this.#linesByQueue.keys());
  }

  /** This process wrote messages that are ready, enqueued or returned. The writes may announce them themselves. */
  onWritten(messages: readonly { queueId: QueueId }[]): void {
    if (!this.#writes.announcesReady) this.serveAll(new Set(messages.map(({ queueId }) => queueId)));
  }

  /** Serves the waiting calls of these queues, and of all subscribers of these topics. */
  serveAll(queueIds: Iterable<QueueId> = this.#linesByQueue.keys()): void {
    for (const queueId of queueIds)
      for (const line of this.#linesByQueue.get(queueId)?.values() ?? []) void this.#serve(line);
  }

  /** Serves waiting calls in order until one gets no message. At most one run at a time for each line. */
  async #serve(line: WaitingLine): Promise<void> {
    line.mayHaveMore = true;
    if (line.isServed) return;
    line.isServed = true;
    const { consumer, waiters } = line;
    while (line.mayHaveMore && waiters.size > 0) {
      line.mayHaveMore = false;
      try {
        await this.#writes.serve(consumer, this.#claimingCalls(line));
      } catch (error) {
        waiters.rejectAll(
          error instanceof QueueError ? error : new QueueError('STORAGE_FAILED', { cause: error }),
        );
      }
    }
    line.isServed = false;
    this.#forgetUnused(line);
  }

  /** The waiting calls in order, including those that begin to wait during the iteration. */
  #claimingCalls(line: WaitingLine): Iterable<ClaimingCall> {
    const { waiters } = line;
    const toMessages = this.#toMessages.bind(this);
    return {
      *[Symbol.iterator]() {
        for (const waiter of waiters) {
          const { request } = waiter;
          const max = maxOf(waiter);
          if (max === undefined) continue;
          const finish = (rows: readonly ClaimedRow[]) => {
            if (rows.length > 0 && !waiter.isWaiting) return false;
            const messages = toMessages(request, rows);
            if (messages.length > 0) return waiter.finish(messages);
            if (rows.length > 0) line.mayHaveMore = true; // the attempts of these were used up
            waiter.resume();
            return true;
          };
          yield { max, bytesMax: request.bytesMax, begin: () => waiter.expect(), finish };
        }
      },
    };
  }

  /** Rejects the calls that wait now. */
  rejectWaiters(error: QueueError): void {
    for (const { waiters } of this.#allLines()) waiters.rejectAll(error);
  }

  /**
   * Rejects the calls that wait, or are about to wait, for this queue or topic; with `subscriber` only those for that subscriber.
   * Later calls may wait again.
   */
  closeWaiters(queueId: QueueId, code: QueueErrorCode, subscriber?: SubscriberId): void {
    if (subscriber === undefined) this.#latencies.delete(queueId);
    const lines = this.#linesByQueue.get(queueId);
    for (const [of, { waiters }] of lines ?? []) {
      if (subscriber !== undefined && of !== subscriber) continue;
      waiters.close(code);
      lines!.delete(of);
    }
    if (lines?.size === 0) this.#linesByQueue.delete(queueId);
  }

  close(): void {
    this.#poll?.cancel();
    for (const { waiters } of this.#allLines()) waiters.close('INSTANCE_CLOSED');
  }
}

/** How many messages the waiting call can take; ends its wait with the reason if none. */
function maxOf(waiter: Waiter<ClaimRequest>): number | undefined {
  try {
    return waiter.request.max();
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    waiter.finish(error);
    return undefined;
  }
}
