/** Takes the beginning of a shard out of its logs, for another instance to deliver. */
import { limits } from '../../core/limits.ts';
import { isChunked, recordEnd } from '../../storage/message-record.ts';
import type { Delivery } from '../hand-out.ts';
import type { ShardReader } from '../shard-reader.ts';

/** So many large messages together still fit a frame. */
const firstLook = 16;

/** Nobody gets a receipt for them. */
export const nextHoldNo = (): number => 0;

/**
 * Up to `max` messages and about `forwardBatchBytesMax`, in order; fewer where the next ones are not in memory. A log is
 * taken from only when nobody waits in those before it.
 */
export function takeForPeer(logs: readonly ShardReader[], max: number): Delivery[] {
  const out: Delivery[] = [];
  let count = 0;
  let bytes = 0;
  for (const log of logs) {
    while (count < max && bytes < limits.forwardBatchBytesMax) {
      const bytesEach = bytes / Math.max(1, count);
      const fit = count === 0 ? firstLook : Math.ceil((limits.forwardBatchBytesMax - bytes) / bytesEach);
      const before = out.length;
      log.takeAway({ max: Math.min(max - count, fit), nextHoldNo, out });
      const taken = leaveChunked(log, before, out);
      if (taken === 0) break;
      count += taken;
      for (const { start, end } of out.slice(before)) bytes += end - start;
    }
    if (log.ready > 0) break;
  }
  return out;
}

/**
 * A payload in chunks lies in the file of this instance: its message stays, and those behind it wait for who consumes it
 * here. Puts it back with them; returns how many are left of those that were taken from `from` on.
 */
function leaveChunked(log: ShardReader, from: number, out: Delivery[]): number {
  let taken = 0;
  for (const delivery of out.slice(from)) {
    const free = countUnchunked(delivery);
    taken += free;
    if (free === delivery.count) continue;
    log.takeBack(out.splice(from));
    return taken === 0 ? 0 : log.takeAway({ max: taken, nextHoldNo, out });
  }
  return taken;
}

/** How many come before the first whose payload lies in chunks. */
function countUnchunked({ run, start, count }: Delivery): number {
  let at = start;
  for (let i = 0; i < count; i += 1) {
    if (isChunked(run.buffer, at)) return i;
    at = recordEnd(run.buffer, at);
  }
  return count;
}

/** They stay here, as if they had never been taken. */
export function takeBack(deliveries: readonly Delivery[]): void {
  for (const [reader, own] of Map.groupBy(deliveries, (delivery) => delivery.reader)) reader.takeBack(own);
}
