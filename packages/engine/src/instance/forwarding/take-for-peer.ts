/** Takes the beginning of a shard out of its logs, for another instance to deliver. */
import { limits } from '../../core/limits.ts';
import type { Delivery } from '../hand-out.ts';
import type { ShardReader } from '../shard-reader.ts';

/** So many large messages together still fit a frame. */
const firstLook = 16;

const nextHoldNo = () => 0; // nobody gets a receipt for them

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
      const taken = log.takeAway({ max: Math.min(max - count, fit), nextHoldNo, out });
      if (taken === 0) break;
      count += taken;
      for (const { start, end } of out.slice(before)) bytes += end - start;
    }
    if (log.ready > 0) break;
  }
  return out;
}

/** They stay here, as if they had never been taken. */
export function putBack(deliveries: readonly Delivery[]): void {
  for (const [reader, own] of Map.groupBy(deliveries, (delivery) => delivery.reader)) reader.putBack(own);
}
