/**
 * Flow control of a buffered queue: past `messagesMax` undelivered messages it refuses more, as Oracle does with ORA-25307
 * "Enqueue rate too high", and says when there is likely to be room.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ShardedQueue } from './sharded-queues.ts';

/** How many messages of a queue are consumed in a second, measured over the last second or two. */
export type ConsumedPerSec = (queue: ShardedQueue) => number;

/**
 * Throws `ENQUEUE_RATE_TOO_HIGH` unless the queue may have `count` more undelivered messages, and counts them as refused.
 * Throws `TX_TOO_LARGE` for more messages than it may ever have.
 */
export function assertMayEnqueue(queue: ShardedQueue, count: number, consumedPerSec: ConsumedPerSec): void {
  const { messagesMax } = queue.row;
  if (messagesMax === null) return;
  if (count > messagesMax)
    throw new QueueError('TX_TOO_LARGE', { details: { operations: count, operationsMax: messagesMax } });
  const { undelivered } = queue;
  const excess = undelivered + count - messagesMax;
  if (excess <= 0) return;
  queue.refused += count;
  const retryAfterMs = retryHintMs(excess, consumedPerSec(queue));
  throw new QueueError('ENQUEUE_RATE_TOO_HIGH', { details: { undelivered, messagesMax, retryAfterMs } });
}

/** Time until `excess` messages are consumed at this rate, in whole milliseconds and within bounds. */
export function retryHintMs(excess: number, perSec: number): number {
  if (perSec <= 0) return limits.enqueueRetryMsUnknown;
  const ms = Math.ceil((excess * 1000) / perSec);
  return Math.min(Math.max(ms, limits.enqueueRetryMsMin), limits.enqueueRetryMsMax);
}
