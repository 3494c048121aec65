/**
 * The order of messages that come home. Each keeps the number that it got in its shard, wherever it goes, so what comes is
 * laid where its numbers say: a part of what came home may have been lent again and come home a second time. Only messages
 * that were never handed out count, as the order is that of first deliveries; delayed ones have no number in the shard.
 */
import { readId, recordEnd } from '../../storage/message-record.ts';
import type { Delivery } from '../hand-out.ts';
import type { Batch } from './interconnect.ts';

/** 0 if it has none there. */
function numberIn(shard: number, source: Buffer, start: number): number {
  const prefix = `${shard}.`;
  const id = readId(source, start);
  return id?.startsWith(prefix) ? Number(id.slice(prefix.length)) : 0;
}

/** The highest number in a batch; 0 if all of it was handed out before. */
export function lastNumber({ shard, attempts, records: { source, start, end } }: Batch): number {
  const again = new Set(attempts.map(([index]) => index));
  let last = 0;
  let index = 0;
  for (let at = start; at < end; at = recordEnd(source, at), index += 1) {
    if (!again.has(index)) last = Math.max(last, numberIn(shard, source, at));
  }
  return last;
}

/** How many messages come before the first whose number is above `number`. */
export function countUpTo(number: number, shard: number, deliveries: readonly Delivery[]): number {
  let count = 0;
  for (const { run, start, end, deliveryCount } of deliveries) {
    for (let at = start; at < end; at = recordEnd(run.buffer, at), count += 1) {
      if (deliveryCount === 1 && numberIn(shard, run.buffer, at) > number) return count;
    }
  }
  return count;
}
