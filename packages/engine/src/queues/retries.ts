/**
 * Handles messages that were delivered and not consumed. The delivery is counted in the file. The message becomes ready again,
 * after a pause if its queue has a retry delay. When its attempts are used up it moves to the exception queue, exactly once: the
 * same commit consumes it in its own queue. `retry-life.ts` has the states and the rules.
 */

import type { GroupCommit } from '../commit/group-commit.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import { newStagedRun, stageMessage } from '../commit/staged-transaction.ts';
import { type Delivery, traceDelivery } from '../log/delivery.ts';
import { ignoreViolation, type ViolationListener } from '../model/invariant.ts';
import { idBytesMax, type RecordFields, readId, readRecord, recordEnd } from '../model/message-record.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { attemptsUsedUp, Retry, type RetryCommand, retryDelayAfter } from '../model/retry-life.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import { StagedPayloads } from './payloads/staged-payloads.ts';
import type { ShardedQueue } from './sharded-queues.ts';

/** Pause before a move to the exception queue that failed, on a full disk for example, is tried again. */
export const moveRetryMs = 1_000;

type DeliveryRetry = Retry<ShardedQueue, Delivery>;

/**
 * A change of messages whose delivery has ended without consumption. `withheld`: they are not ready at once, but wait for their
 * retry delay or their move to the exception queue. `returned`: they are ready again after that wait. `moved`: they are in the
 * exception queue, as durable as their queue promises.
 */
export type RetryChange = 'withheld' | 'returned' | 'moved';

export interface RetriesOptions {
  groupCommit: GroupCommit;
  slab: Slab;
  payloads: PayloadStore;
  ports: Pick<Ports, 'clock' | 'timers'>;
  exceptionQueueOf(row: QueueRow): ShardedQueue | undefined;
  /** Messages are ready again. */
  onReady(queue: ShardedQueue): void;
  /** Stops the instance. */
  onInvariantBroken: ViolationListener;
}

export class Retries {
  readonly #options: RetriesOptions;
  readonly #timers = new Set<Timer>();
  readonly listeners = new Set<
    (change: RetryChange, queue: QueueRow, deliveries: readonly Delivery[]) => void
  >();

  constructor(options: RetriesOptions) {
    this.#options = options;
  }

  /** Counts deliveries in the file. Resolves when that is durable. */
  recordAttempts(row: QueueRow, deliveries: readonly Delivery[]): Promise<void> {
    return this.#options.groupCommit.write({
      sync: row.durability === 'durable' ? 'FULL' : 'NORMAL',
      onClose: () => attemptWrites(deliveries),
    });
  }

  /** Moves messages whose attempts are used up to the exception queue. Returns the other deliveries. */
  divertExhausted(queue: ShardedQueue, deliveries: readonly Delivery[]): readonly Delivery[] {
    const { attemptsMax } = queue.row;
    if (attemptsMax === null) return deliveries;
    const exhausted = deliveries.filter(({ deliveryCount }) => deliveryCount > attemptsMax);
    if (exhausted.length === 0) return deliveries;
    this.#moveToExceptionQueue(new Retry(queue, exhausted));
    return deliveries.filter(({ deliveryCount }) => deliveryCount <= attemptsMax);
  }

  /** Ends deliveries of one queue without a commit. Deliveries to a subscriber that has been removed are dropped. */
  nack(queue: ShardedQueue, ended: readonly Delivery[]): void {
    const { attemptsMax, retryDelayMs } = queue.row;
    const deliveries = ended.filter(({ cursor }) => !cursor.removed);
    const isExhausted = ({ deliveryCount }: Delivery) => attemptsUsedUp(deliveryCount, attemptsMax);
    const exhausted = deliveries.filter(isExhausted);
    if (exhausted.length > 0) this.#moveToExceptionQueue(new Retry(queue, exhausted));
    const again = deliveries.filter((delivery) => !isExhausted(delivery));
    if (again.length === 0) return;
    // Where attempts are limited they were counted before the delivery. Elsewhere a crash can lose this one.
    if (attemptsMax === null) {
      this.#options.groupCommit
        .write({ sync: 'NORMAL', background: true, onClose: () => attemptWrites(again) })
        .catch(() => undefined);
    }
    if (retryDelayMs === 0) this.#return(new Retry(queue, again), 'return');
    else {
      for (const [attempts, ofCount] of Map.groupBy(again, ({ deliveryCount }) => deliveryCount)) {
        this.#pause(new Retry(queue, ofCount), 'delay', retryDelayAfter(attempts, retryDelayMs));
      }
    }
  }

  #notify(change: RetryChange, { queue, deliveries }: DeliveryRetry): void {
    for (const listener of this.listeners) listener(change, queue.row, deliveries);
  }

  /** Every change of a retry's state goes through here. */
  #apply(retry: DeliveryRetry, command: RetryCommand): void {
    retry.apply(command, this.#options.onInvariantBroken);
  }

  #return(retry: DeliveryRetry, command: 'return' | 'resume'): void {
    this.#apply(retry, command);
    for (const [cursor, ofCursor] of Map.groupBy(retry.deliveries, (delivery) => delivery.cursor))
      cursor.deliveries.nack(ofCursor);
  }

  #pause(retry: DeliveryRetry, command: 'delay' | 'failMove', ms: number): void {
    this.#apply(retry, command);
    const { queue, deliveries } = retry;
    const { clock, timers } = this.#options.ports;
    const untilMs = clock.epochMs() + ms;
    for (const delivery of deliveries) delivery.cursor.deliveries.pause(delivery, untilMs);
    if (command === 'delay') this.#notify('withheld', retry);
    const timer = timers.after(ms, () => {
      this.#timers.delete(timer);
      for (const delivery of deliveries) delivery.cursor.deliveries.resume(delivery);
      this.#return(retry, 'resume');
      this.#options.onReady(queue);
      this.#notify('returned', retry);
    });
    this.#timers.add(timer);
  }

  /** The messages stay held until the commit that moves them. */
  #moveToExceptionQueue(retry: DeliveryRetry): void {
    this.#apply(retry, 'move');
    this.#notify('withheld', retry);
    const { queue, deliveries } = retry;
    const { groupCommit, slab, payloads, exceptionQueueOf } = this.#options;
    const target = exceptionQueueOf(queue.row);
    if (target === undefined) {
      this.#pause(retry, 'failMove', moveRetryMs);
      return;
    }
    const run = newStagedRun(target.firstLog);
    const staged = new StagedPayloads(payloads);
    for (const delivery of deliveries) {
      // A diverted delivery counts itself, and no consumer gets it: its count is above the limit.
      const attempts = Math.min(delivery.deliveryCount, queue.row.attemptsMax ?? delivery.deliveryCount);
      for (const { id, fields, bytes } of messagesIn(delivery)) {
        const message = withExceptionReason(fields, queue.row.name, attempts);
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

/** The rows with the attempts of these deliveries; none for messages that are only in memory, or are gone. */
function attemptWrites(deliveries: readonly Delivery[]): TableWrite[] {
  const writes: TableWrite[] = [];
  for (const { cursor, firstSeq, count, deliveryCount } of deliveries) {
    const { log, subscriber } = cursor;
    if (!log.persistent || log.dropped || !cursor.durable || cursor.removed) continue;
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

/** Names of the properties that a message has in an exception queue beside its own. */
export const exceptionProperties = { queue: 'exception-queue-of', reason: 'exception-reason' } as const;

/** The message with properties that say which queue it comes from and why it was moved. */
export function withExceptionReason(
  { priority: _, recipients: __, ...fields }: RecordFields,
  queue: string,
  attempts: number,
) {
  const properties = {
    ...fields.properties,
    [exceptionProperties.queue]: queue,
    [exceptionProperties.reason]: `delivered ${attempts === 1 ? 'once' : `${attempts} times`} without being consumed`,
  };
  return { ...fields, properties };
}
