/**
 * Handles messages that were delivered and not consumed. The commit that returns a message counts its delivery in the file, so
 * the count never goes down, and deliveries wait for nothing. Then the message is ready again, after a delay if it has one. A
 * message that is rejected, or whose attempts are used up, moves to the exception queue, exactly once: the same commit consumes
 * it in its own queue. `retry-life.ts` has the states and the rules.
 */

import { type ErrorKind, QueueError } from '../api/errors.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import { newStagedRun, stageMessage } from '../commit/staged-transaction.ts';
import { type Delivery, traceDelivery } from '../log/delivery.ts';
import { addFailure, type ValidReturn, withExceptionReason } from '../model/failed-attempts.ts';
import { ignoreViolation, type ViolationListener } from '../model/invariant.ts';
import { idBytesMax, readId, readRecord, recordEnd } from '../model/message-record.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { attemptsUsedUp, Retry, type RetryCommand, retryDelayOf } from '../model/retry-life.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import { StagedPayloads } from './payloads/staged-payloads.ts';
import type { ShardedQueue } from './sharded-queues.ts';

/** Pause before a move to the exception queue that failed, on a full disk for example, is tried again. */
export const moveRetryMs = 1_000;

type DeliveryRetry = Retry<ShardedQueue, Delivery>;

/**
 * A change of messages whose delivery has ended without consumption. `withheld`: they are not ready at once, but wait for their
 * delay or their move to the exception queue. `returned`: they are ready again after that wait. `moved`: they are in the
 * exception queue, as durable as their queue promises.
 */
export type RetryChange = 'withheld' | 'returned' | 'moved';

/**
 * How deliveries end. `isOutage`: because nothing could be committed, not because of a message: no attempt is used up, and the
 * return does not wait for its count.
 */
export type DeliveryEnd = ValidReturn & { isOutage?: boolean };

export interface RetriesOptions {
  groupCommit: GroupCommit;
  slab: Slab;
  payloads: PayloadStore;
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** Creates it if it is missing. Undefined if it cannot be created now. */
  exceptionQueueOf(row: QueueRow): ShardedQueue | undefined;
  /** Messages are ready again. */
  onReady(queue: ShardedQueue): void;
  /** Stops the instance. */
  onInvariantBroken: ViolationListener;
}

export class Retries {
  readonly #options: RetriesOptions;
  readonly #timers = new Set<Timer>();
  #closed = false;
  readonly listeners = new Set<
    (change: RetryChange, queue: QueueRow, deliveries: readonly Delivery[]) => void
  >();

  constructor(options: RetriesOptions) {
    this.#options = options;
  }

  /** Counts deliveries in the file. Resolves when that is durable. `background`: no consumer waits for them. */
  recordAttempts(row: QueueRow, deliveries: readonly Delivery[], { background = false } = {}): Promise<void> {
    return this.#options.groupCommit.write({
      sync: row.durability === 'durable' ? 'FULL' : 'NORMAL',
      background,
      onClose: () => attemptWrites(deliveries),
    });
  }

  /**
   * Where each delivery is counted: moves messages whose attempts were used up by consumers that died to the exception queue.
   * Returns the other deliveries.
   */
  divertExhausted(queue: ShardedQueue, deliveries: readonly Delivery[]): readonly Delivery[] {
    const attemptsMax = queue.row.attemptsMax ?? Number.POSITIVE_INFINITY;
    const exhausted = deliveries.filter(({ deliveryCount }) => deliveryCount > attemptsMax);
    if (exhausted.length === 0) return deliveries;
    this.#moveToExceptionQueue(new Retry(queue, exhausted), false);
    return deliveries.filter(({ deliveryCount }) => deliveryCount <= attemptsMax);
  }

  /**
   * Ends deliveries of one queue without a commit. Deliveries to a subscriber that has been removed are dropped. A promise if
   * the return waits for the commit that counts it.
   */
  nack(queue: ShardedQueue, ended: readonly Delivery[], end: DeliveryEnd = {}): Promise<void> | undefined {
    const { row } = queue;
    const deliveries = ended.filter(({ cursor }) => !cursor.removed);
    const { isOutage = false, reject = false } = end;
    const nowMs = this.#options.ports.clock.epochMs();
    if (!isOutage)
      for (const delivery of deliveries) delivery.failures = addFailure(delivery.failures, end, nowMs);
    const isExhausted = ({ deliveryCount }: Delivery) =>
      !isOutage && (reject || attemptsUsedUp(deliveryCount, row.attemptsMax));
    const exhausted = deliveries.filter(isExhausted);
    if (exhausted.length > 0) this.#moveToExceptionQueue(new Retry(queue, exhausted), reject);
    const again = exhausted.length === 0 ? deliveries : deliveries.filter((each) => !isExhausted(each));
    const byCount = Map.groupBy(again, ({ deliveryCount }) => deliveryCount).values();
    const retries = [...byCount].map((ofCount) => new Retry(queue, ofCount));
    const isCounted = queue.countsDeliveries || !again.some(canCount);
    if (!isCounted && !isOutage) return this.#count(retries, end);
    if (!isCounted) this.recordAttempts(row, again, { background: true }).catch(() => undefined);
    for (const retry of retries) this.#return(retry, end);
    return undefined;
  }

  async #count(retries: readonly DeliveryRetry[], end: DeliveryEnd): Promise<void> {
    for (const retry of retries) this.#apply(retry, 'count');
    const all = retries.flatMap(({ deliveries }) => deliveries);
    // On a full disk consumption goes on: the count is in memory, and stored with the next one.
    await this.recordAttempts(retries[0]!.queue.row, all, { background: true }).catch(() => undefined);
    for (const retry of retries) this.#return(retry, end);
  }

  #return(retry: DeliveryRetry, end: DeliveryEnd): void {
    const { queue, deliveries } = retry;
    const delayMs = retryDelayOf(queue.row, deliveries[0]!.deliveryCount, end);
    if (delayMs === 0) {
      this.#apply(retry, 'return');
      this.#makeReady(retry);
      return;
    }
    this.#pause(retry, 'delay', delayMs, () => {
      this.#apply(retry, 'resume');
      this.#makeReady(retry);
      this.#options.onReady(queue);
      this.#notify('returned', retry);
    });
  }

  #notify(change: RetryChange, { queue, deliveries }: DeliveryRetry): void {
    for (const listener of this.listeners) listener(change, queue.row, deliveries);
  }

  /** Every change of a retry's state goes through here. */
  #apply(retry: DeliveryRetry, command: RetryCommand): void {
    retry.apply(command, this.#options.onInvariantBroken);
  }

  #makeReady({ deliveries }: DeliveryRetry): void {
    for (const [cursor, ofCursor] of Map.groupBy(deliveries, (delivery) => delivery.cursor))
      cursor.deliveries.nack(ofCursor);
  }

  /** The messages are held again when `then` is called. */
  #pause(retry: DeliveryRetry, command: 'delay' | 'failMove', ms: number, then: () => void): void {
    this.#apply(retry, command);
    if (this.#closed) return;
    const { deliveries } = retry;
    const { clock, timers } = this.#options.ports;
    const untilMs = clock.epochMs() + ms;
    for (const delivery of deliveries) delivery.cursor.deliveries.pause(delivery, untilMs);
    if (command === 'delay') this.#notify('withheld', retry);
    const timer = timers.after(ms, () => {
      this.#timers.delete(timer);
      for (const delivery of deliveries) delivery.cursor.deliveries.resume(delivery);
      then();
    });
    this.#timers.add(timer);
  }

  /** The messages stay held until the commit that moves them. */
  #moveToExceptionQueue(retry: DeliveryRetry, rejected: boolean): void {
    this.#apply(retry, 'move');
    this.#notify('withheld', retry);
    this.#move(retry, rejected);
  }

  #move(retry: DeliveryRetry, rejected: boolean): void {
    const { queue, deliveries: all } = retry;
    const { groupCommit, slab, payloads, exceptionQueueOf } = this.#options;
    const tryAgain = () =>
      this.#pause(retry, 'failMove', moveRetryMs, () => {
        this.#apply(retry, 'move');
        this.#move(retry, rejected);
      });
    const deliveries = all.filter(({ cursor }) => !cursor.removed && !cursor.log.dropped);
    if (deliveries.length === 0) return; // what they waited for is gone
    const target = exceptionQueueOf(queue.row);
    if (target === undefined) {
      tryAgain();
      return;
    }
    const { attemptsMax, name } = queue.row;
    const run = newStagedRun(target.firstLog);
    const staged = new StagedPayloads(payloads);
    for (const delivery of deliveries) {
      const { deliveryCount, failures } = delivery;
      // A diverted delivery counts itself, and no consumer gets it: its count is above the limit.
      const attempts = queue.countsDeliveries ? Math.min(deliveryCount, attemptsMax!) : deliveryCount;
      for (const { id, fields, bytes } of messagesIn(delivery)) {
        const message = withExceptionReason(fields, { queue: name, attempts, rejected, failures });
        // A payload in chunks is not copied: both messages refer to it until the one in this queue is consumed.
        if (fields.chunked !== undefined) staged.addForNextMessage(run, fields.chunked);
        // With the reason its properties can exceed the limit of an enqueue; the message moves all the same.
        const bytesNeeded =
          bytes + 2 + idBytesMax + 4 + Buffer.byteLength(JSON.stringify(message.properties));
        stageMessage({
          slab,
          run,
          message,
          bytesNeeded,
          stamp: { enqueuedAtMs: fields.enqueuedAtMs, id },
        });
      }
    }
    for (const delivery of deliveries) traceDelivery('diverted', delivery);
    const bytes = run.segments.reduce((sum, { start, end }) => sum + end - start, 0);
    const sync = queue.row.durability === 'durable' ? 'FULL' : 'NORMAL';
    groupCommit
      .write({ runs: [run], deliveries, bytes, sync, background: true, ...staged.hooks })
      .then(() => {
        this.#apply(retry, 'finishMove');
        this.#notify('moved', retry);
      }, tryAgain)
      .catch(ignoreViolation);
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
  }
}

/** How the deliveries of a transaction end whose commit failed. */
export function endOfFailedCommit(error: unknown): DeliveryEnd {
  const isOutage = error instanceof QueueError && outageKinds.includes(error.kind);
  return { isOutage };
}

const outageKinds: readonly ErrorKind[] = ['unavailable', 'failed', 'bug'];

/** Whether a delivery has a row for its attempts: messages that are only in memory have none. */
function canCount({ cursor: { log, durable, removed } }: Delivery): boolean {
  return log.persistent && !log.dropped && durable && !removed;
}

/** The rows with the attempts of these deliveries; none for messages that are only in memory, or are gone. */
function attemptWrites(deliveries: readonly Delivery[]): TableWrite[] {
  const writes: TableWrite[] = [];
  for (const delivery of deliveries) {
    if (!canCount(delivery)) continue;
    const { cursor, firstSeq, count, deliveryCount } = delivery;
    const { log, subscriber } = cursor;
    const rows = Array.from({ length: count }, (_, index) => {
      return { subscriber, seq: firstSeq + index, attempts: deliveryCount };
    });
    // All of them are in one partition, so all were evacuated if one was.
    if (cursor.evacuated.has(firstSeq)) {
      const { queueId, id } = log;
      for (const row of rows) {
        writes.push({ kind: 'evacuated attempts', evacuated: { queueId, shard: id, ...row } });
      }
      continue;
    }
    const partition = log.partitions.findPartition(firstSeq);
    if (partition === undefined) continue;
    writes.push({ kind: 'attempts', partition: partition.id, rows });
  }
  return writes;
}

function* messagesIn({ cursor, run, firstSeq, count, start }: Delivery) {
  let at = start;
  for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
    const id = readId(run.buffer, at) ?? `${cursor.log.id}.${seq}`;
    const end = recordEnd(run.buffer, at);
    yield { id, fields: readRecord(run.buffer, at), bytes: end - at };
    at = end;
  }
}
