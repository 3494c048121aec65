/**
 * Handles messages of unsharded queues that were delivered and not consumed, as `queues/retries.ts` does for sharded ones, by the
 * rules of `model/retry-life.ts`. The claim has counted the delivery in the file, and the write that returns the message makes
 * that durable. While a message waits for its delay, or for its move to the exception queue, this process holds it; if the
 * process dies, the message is ready at once, with its count.
 */
import { RecentFailures, withExceptionReason } from '../model/failed-attempts.ts';
import { ignoreViolation, inBackground, type ViolationListener } from '../model/invariant.ts';
import { idBytesMax, readId, readRecord, recordByteLength, writeRecord } from '../model/message-record.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import {
  attemptsUsedUp,
  countsOnDelivery,
  Retry,
  type RetryCommand,
  retryDelayOf,
} from '../model/retry-life.ts';
import { type DeliveryEnd, moveRetryMs, type RetryChange } from '../queues/retries.ts';
import { heldKey } from '../storage/unsharded/message-consumer.ts';
import type { UnshardedChange } from '../storage/unsharded/unsharded-file.ts';
import type { UnshardedDelivery } from './unsharded-delivery.ts';

type UnshardedRetry = Retry<QueueRow, UnshardedDelivery>;

export interface UnshardedRetriesOptions {
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** Consumes messages of a queue, and enqueues them to its exception queue. */
  commit(change: UnshardedChange): Promise<unknown>;
  /** Throws `STORAGE_CORRUPT`. */
  readRecord(delivery: UnshardedDelivery): Buffer;
  /** Created if it is missing; undefined if it cannot be created now. */
  exceptionQueueOf(queue: QueueRow): QueueRow | undefined;
  /** Whether its queue was not dropped, nor its subscriber removed. */
  isWanted(delivery: UnshardedDelivery): boolean;
  /** Makes messages that this process holds ready again. Resolves when they are, or when the write failed and will be repeated. */
  release(deliveries: readonly UnshardedDelivery[]): Promise<void>;
  /** Stops the instance. */
  onInvariantBroken: ViolationListener;
}

export class UnshardedRetries {
  readonly #options: UnshardedRetriesOptions;
  readonly #timers = new Set<Timer>();
  readonly failures = new RecentFailures();
  #closed = false;
  /** Called with the subscriber of each message. */
  readonly listeners = new Set<(change: RetryChange, topic: QueueRow, subscriber: string) => void>();

  constructor(options: UnshardedRetriesOptions) {
    this.#options = options;
  }

  /**
   * A claim has delivered a message. False: its attempts were used up before, by consumers whose processes have died, so it
   * moves to the exception queue and no consumer gets it.
   */
  begin(delivery: UnshardedDelivery): boolean {
    const { queue, deliveryCount } = delivery;
    if (!countsOnDelivery(queue) || deliveryCount <= queue.attemptsMax!) return true;
    this.#moveToExceptionQueue(new Retry(queue, [delivery]), false);
    return false;
  }

  /** Ends deliveries without a commit. Returns those whose messages are ready again at once. */
  end(deliveries: readonly UnshardedDelivery[], end: DeliveryEnd = {}): readonly UnshardedDelivery[] {
    const nowMs = this.#options.ports.clock.epochMs();
    const atOnce: UnshardedDelivery[] = [];
    const exhausted = new Map<QueueRow, UnshardedDelivery[]>();
    for (const delivery of deliveries) {
      const { queue, deliveryCount } = delivery;
      if (!this.#options.isWanted(delivery)) {
        atOnce.push(delivery);
        continue;
      }
      if (!end.isOutage) this.failures.add(heldKey(delivery), end, nowMs);
      if (!end.isOutage && (end.reject || attemptsUsedUp(deliveryCount, queue.attemptsMax))) {
        const ofQueue = exhausted.get(queue);
        if (ofQueue === undefined) exhausted.set(queue, [delivery]);
        else ofQueue.push(delivery);
        continue;
      }
      const delayMs = retryDelayOf(queue, deliveryCount, end);
      if (delayMs === 0) atOnce.push(delivery);
      else this.#delay(new Retry(queue, [delivery]), delayMs);
    }
    for (const [queue, ofQueue] of exhausted)
      this.#moveToExceptionQueue(new Retry(queue, ofQueue), end.reject === true);
    return atOnce;
  }

  #notify(change: RetryChange, { queue: topic, deliveries }: UnshardedRetry): void {
    for (const { subscriber } of deliveries)
      for (const listener of this.listeners) listener(change, topic, subscriber);
  }

  /** Every change of a retry's state goes through here. */
  #apply(retry: UnshardedRetry, command: RetryCommand): void {
    retry.apply(command, this.#options.onInvariantBroken);
  }

  #delay(retry: UnshardedRetry, ms: number): void {
    this.#apply(retry, 'delay');
    this.#notify('withheld', retry);
    this.#after(ms, () => {
      this.#apply(retry, 'resume');
      inBackground(this.#options.release(retry.deliveries).then(() => this.#notify('returned', retry)));
    });
  }

  #after(ms: number, work: () => void): void {
    if (this.#closed) return;
    const timer = this.#options.ports.timers.after(ms, () => {
      this.#timers.delete(timer);
      work();
    });
    this.#timers.add(timer);
  }

  /** The messages stay held until the commit that moves them. */
  #moveToExceptionQueue(retry: UnshardedRetry, rejected: boolean): void {
    this.#apply(retry, 'move');
    this.#notify('withheld', retry);
    this.#move(retry, rejected).catch(ignoreViolation);
  }

  async #move(retry: UnshardedRetry, rejected: boolean): Promise<void> {
    const { commit, exceptionQueueOf, isWanted, release } = this.#options;
    const { queue } = retry;
    const [wanted, gone] = [
      retry.deliveries.filter(isWanted),
      retry.deliveries.filter((each) => !isWanted(each)),
    ];
    if (gone.length > 0) await release(gone);
    if (wanted.length === 0) return;
    try {
      const target = exceptionQueueOf(queue);
      if (target === undefined) throw new Error('There is no exception queue yet');
      const enqueued = wanted.map((delivery) => ({
        queueId: target.queueId,
        record: this.#recordOfMoved(delivery, rejected),
      }));
      const sync = queue.durability === 'durable' ? 'FULL' : 'NORMAL';
      await commit({ enqueued, consumed: wanted, sync });
    } catch {
      this.#apply(retry, 'failMove');
      this.#after(moveRetryMs, () => {
        this.#apply(retry, 'move');
        this.#move(retry, rejected).catch(ignoreViolation);
      });
      return;
    }
    this.#apply(retry, 'finishMove');
    this.#notify('moved', retry);
  }

  /** The message under its own id, with the reason in its properties. */
  #recordOfMoved(delivery: UnshardedDelivery, rejected: boolean): Buffer {
    const { queue, deliveryCount } = delivery;
    const failures = this.failures.get(heldKey(delivery));
    const record = this.#options.readRecord(delivery);
    const fields = readRecord(record, 0);
    const attempts = countsOnDelivery(queue) ? Math.min(deliveryCount, queue.attemptsMax!) : deliveryCount;
    const message = withExceptionReason(fields, { queue: queue.name, attempts, rejected, failures });
    const stamp = { enqueuedAtMs: fields.enqueuedAtMs, id: readId(record, 0) ?? String(delivery.id) };
    const moved = Buffer.allocUnsafe(recordByteLength(message) + 2 + idBytesMax);
    return moved.subarray(0, writeRecord(moved, 0, message, stamp));
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
  }
}
