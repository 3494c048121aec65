/** Takes the oldest ready messages of a shard out of its logs, for another instance to deliver. */

import { limits } from '../api/limits.ts';
import type { Delivery } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { HoldNumber } from '../model/ids.ts';
import { hasChunkedPayload, recordEnd } from '../model/message-record.ts';

/** Messages to take while their size is unknown: this many of the largest inline payloads still fit in one frame. */
const firstTakeMessagesMax = 16;

/** Messages taken for forwarding have no receipts, so their holds need no numbers. */
export const withoutHoldNumber = (): HoldNumber => 0;

/**
 * Takes up to `messagesMax` messages and about `forwardBatchBytesMax`, in delivery order; fewer if the next ones are not
 * in memory. Nothing is taken from a log as long as an earlier log of the shard has ready messages.
 */
export function takeBatch(cursors: readonly SubscriberCursor[], messagesMax: number): Delivery[] {
  const out: Delivery[] = [];
  let count = 0;
  let bytes = 0;
  for (const cursor of cursors) {
    while (count < messagesMax && bytes < limits.forwardBatchBytesMax) {
      const averageBytes = bytes / Math.max(1, count);
      const takeMax =
        count === 0 ? firstTakeMessagesMax : Math.ceil((limits.forwardBatchBytesMax - bytes) / averageBytes);
      const previousLength = out.length;
      const max = Math.min(messagesMax - count, takeMax);
      cursor.takeForForwarding({ max, nextHoldNumber: withoutHoldNumber, out });
      const taken = putBackChunked(cursor, previousLength, out);
      if (taken === 0) break;
      count += taken;
      for (const { start, end } of out.slice(previousLength)) bytes += end - start;
    }
    if (cursor.ready > 0) break;
  }
  return out;
}

/**
 * Puts back the first message whose payload is in chunks, and all behind it: the chunks are in this instance's file, so
 * such a message can only be consumed here. Checks the deliveries of `out` from index `from` on. Returns how many
 * messages of them remain taken.
 */
function putBackChunked(cursor: SubscriberCursor, from: number, out: Delivery[]): number {
  let taken = 0;
  for (const delivery of out.slice(from)) {
    const unchunked = countUnchunked(delivery);
    taken += unchunked;
    if (unchunked === delivery.count) continue;
    cursor.deliveries.cancelDelivery(out.splice(from));
    if (taken === 0) return 0;
    return cursor.takeForForwarding({ max: taken, nextHoldNumber: withoutHoldNumber, out });
  }
  return taken;
}

/** How many messages come before the first one whose payload is in chunks. */
function countUnchunked({ run, start, count }: Delivery): number {
  let at = start;
  for (let index = 0; index < count; index += 1) {
    if (hasChunkedPayload(run.buffer, at)) return index;
    at = recordEnd(run.buffer, at);
  }
  return count;
}

/** Makes the messages ready again, as if they had never been taken. */
export function cancelDeliveries(deliveries: readonly Delivery[]): void {
  const byCursor = Map.groupBy(deliveries, (delivery) => delivery.cursor);
  for (const [cursor, ofCursor] of byCursor) cursor.deliveries.cancelDelivery(ofCursor);
}
