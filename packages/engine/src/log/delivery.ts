/** The messages that a dequeue delivers. */

import type { MessageEventKind } from '../api/message-event-kinds.ts';
import type { Epoch, Seq } from '../model/ids.ts';
import type { TraceDetails } from '../model/trace-ring.ts';
import type { CursorDeliverOptions, CursorDelivery } from './log-cursor.ts';
import type { MessageLog } from './message-log.ts';
import type { SubscriberCursor } from './subscriber-cursor.ts';

export type Delivery = CursorDelivery<MessageLog>;
export type DeliverOptions = CursorDeliverOptions<MessageLog>;

/** The name of one message's delivery; the receipt begins with it (`model/receipt.ts`). */
export function deliveryName({ cursor, firstSeq, holdNumber }: Delivery, epoch: Epoch): string {
  return `${cursor.log.id}.${firstSeq}.${epoch}.${holdNumber}`;
}

export const isDeliveryOf =
  (cursor: SubscriberCursor, seq: Seq) =>
  (delivery: Delivery): boolean =>
    delivery.cursor === cursor && delivery.firstSeq <= seq && seq < delivery.firstSeq + delivery.count;

/** Records an event of those messages of a delivery that are traced. */
export function traceDelivery(event: MessageEventKind, delivery: Delivery, details: TraceDetails = {}): void {
  const { cursor, firstSeq, count, deliveryCount: attempt } = delivery;
  const { log, subscriber } = cursor;
  if (log.traces(firstSeq, count))
    log.trace?.record(event, firstSeq, count, { subscriber, attempt, ...details });
}

/** Records that a hold of `holdMs` begins or is extended now, for those messages of the delivery that are traced. */
export function traceHold(event: 'held' | 'extended', delivery: Delivery, holdMs: number): void {
  const { log } = delivery.cursor;
  if (!log.traces(delivery.firstSeq, delivery.count) || log.trace === undefined) return;
  traceDelivery(event, delivery, { amount: log.trace.queue.ring.clock.epochMs() + holdMs });
}
