/**
 * Handles messages of unsharded topics that were delivered and not consumed, if the topic limits their attempts or delays the
 * next one: as `queues/retries.ts` does for sharded queues, by the rules of `model/retry-life.ts`. The claim has counted the
 * delivery in the file. While a message is delayed, or on its way to the exception queue, this process holds it; if the process
 * dies, the message is ready at once, with its count.
 */
import { ignoreViolation, inBackground, type ViolationListener } from '../model/invariant.ts';
import { readRecord, recordByteLength, writeRecord } from '../model/message-record.ts';
import type { Timer, Timers } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { attemptsUsedUp, Retry, type RetryCommand, retryDelayAfter } from '../model/retry-life.ts';
import { moveRetryMs, type RetryChange, withExceptionReason } from '../queues/retries.ts';
import type { ClaimedRow, UnshardedChange } from '../storage/unsharded/unsharded-file.ts';
import type { UnshardedDelivery } from './unsharded-transaction.ts';

/** A delivery of a topic that limits or delays retries. */
interface Attempt {
  topic: QueueRow;
  /** Name of the subscriber. */
  subscriber: string;
  row: Pick<ClaimedRow, 'id' | 'deliveryCount' | 'record'>;
}

type TopicRetry = Retry<QueueRow, UnshardedDelivery>;

export interface UnshardedRetriesOptions {
  timers: Pick<Timers, 'after'>;
  /** Consumes messages of a topic, and enqueues them to its exception queue. */
  commit(change: UnshardedChange): Promise<unknown>;
  /** Whether a subscriber of this name has not been removed. */
  hasSubscriber(topic: QueueRow, name: string): boolean;
  /** Makes messages that this process holds ready again. Resolves when they are, or when the write failed and will be repeated. */
  release(deliveries: readonly UnshardedDelivery[]): Promise<void>;
  /** Stops the instance. */
  onInvariantBroken: ViolationListener;
}

export const hasRetries = ({ attemptsMax, retryDelayMs }: QueueRow): boolean =>
  attemptsMax !== null || retryDelayMs > 0;

export class UnshardedRetries {
  readonly #options: UnshardedRetriesOptions;
  /** An attempt lives as long as its delivery. */
  readonly #attempts = new WeakMap<UnshardedDelivery, Attempt>();
  readonly #timers = new Set<Timer>();
  /** Called with the subscriber of each message. */
  readonly listeners = new Set<(change: RetryChange, topic: QueueRow, subscriber: string) => void>();

  constructor(options: UnshardedRetriesOptions) {
    this.#options = options;
  }

  /**
   * A claim has delivered a message. False: its attempts were used up before, by consumers whose processes have died, so it
   * moves to the exception queue and no consumer gets it.
   */
  begin(delivery: UnshardedDelivery, attempt: Attempt): boolean {
    const { topic, row } = attempt;
    if (!hasRetries(topic)) return true;
    this.#attempts.set(delivery, attempt);
    if (topic.attemptsMax === null || row.deliveryCount <= topic.attemptsMax) return true;
    this.#moveToExceptionQueue(new Retry(topic, [delivery]));
    return false;
  }

  /** Ends deliveries without a commit. Returns those whose messages are ready again at once. */
  end(deliveries: readonly UnshardedDelivery[]): readonly UnshardedDelivery[] {
    const known = deliveries.filter((delivery) => this.#isWanted(delivery));
    if (known.length === 0) return deliveries;
    const topics = Map.groupBy(known, (delivery) => this.#attempts.get(delivery)!.topic.queueId);
    const atOnce = new Set(deliveries);
    for (const ofTopic of topics.values()) this.#endOfTopic(ofTopic, atOnce);
    return [...atOnce];
  }

  /** Whether there is anybody to retry it for. */
  #isWanted(delivery: UnshardedDelivery): boolean {
    const attempt = this.#attempts.get(delivery);
    return attempt !== undefined && this.#options.hasSubscriber(attempt.topic, attempt.subscriber);
  }

  #endOfTopic(deliveries: readonly UnshardedDelivery[], atOnce: Set<UnshardedDelivery>): void {
    const { topic } = this.#attempts.get(deliveries[0]!)!;
    const countOf = (delivery: UnshardedDelivery) => this.#attempts.get(delivery)!.row.deliveryCount;
    const isExhausted = (delivery: UnshardedDelivery) => attemptsUsedUp(countOf(delivery), topic.attemptsMax);
    const exhausted = deliveries.filter(isExhausted);
    for (const delivery of exhausted) atOnce.delete(delivery);
    if (exhausted.length > 0) this.#moveToExceptionQueue(new Retry(topic, exhausted));
    if (topic.retryDelayMs === 0) return;
    const again = deliveries.filter((delivery) => !isExhausted(delivery));
    for (const [attempts, ofCount] of Map.groupBy(again, countOf)) {
      for (const delivery of ofCount) atOnce.delete(delivery);
      this.#pause(new Retry(topic, ofCount), 'delay', retryDelayAfter(attempts, topic.retryDelayMs));
    }
  }

  #notify(change: RetryChange, { queue: topic, deliveries }: TopicRetry): void {
    for (const delivery of deliveries)
      for (const listener of this.listeners)
        listener(change, topic, this.#attempts.get(delivery)!.subscriber);
  }

  /** Every change of a retry's state goes through here. */
  #apply(retry: TopicRetry, command: RetryCommand): void {
    retry.apply(command, this.#options.onInvariantBroken);
  }

  #pause(retry: TopicRetry, command: 'delay' | 'failMove', ms: number): void {
    this.#apply(retry, command);
    if (command === 'delay') this.#notify('withheld', retry);
    const timer = this.#options.timers.after(ms, () => {
      this.#timers.delete(timer);
      this.#apply(retry, 'resume');
      inBackground(this.#options.release(retry.deliveries).then(() => this.#notify('returned', retry)));
    });
    this.#timers.add(timer);
  }

  /** The messages stay held until the commit that moves them. One that fails is tried again once a claim meets them. */
  #moveToExceptionQueue(retry: TopicRetry): void {
    this.#apply(retry, 'move');
    this.#notify('withheld', retry);
    const { queue: topic, deliveries } = retry;
    const attempts = deliveries.map((delivery) => this.#attempts.get(delivery)!);
    const enqueued = attempts.map((attempt) => ({
      queueId: topic.exceptionQueueId!,
      record: recordOfMoved(attempt),
    }));
    const sync = topic.durability === 'durable' ? 'FULL' : 'NORMAL';
    this.#options
      .commit({ enqueued, consumed: [...deliveries], sync })
      .then(
        () => {
          this.#apply(retry, 'finishMove');
          this.#notify('moved', retry);
        },
        () => this.#pause(retry, 'failMove', moveRetryMs),
      )
      .catch(ignoreViolation);
  }

  close(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}

/** The message under its own id, with the reason in its properties. */
function recordOfMoved({ topic, row: { id, deliveryCount, record } }: Attempt): Buffer {
  const fields = readRecord(record, 0);
  const attempts = Math.min(deliveryCount, topic.attemptsMax!);
  const message = withExceptionReason(fields, topic.name, attempts);
  const stamp = { enqueuedAtMs: fields.enqueuedAtMs, id: String(id) };
  const moved = Buffer.allocUnsafe(recordByteLength(message) + 2 + stamp.id.length);
  return moved.subarray(0, writeRecord(moved, 0, message, stamp));
}
