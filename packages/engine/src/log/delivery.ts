/** What a dequeue delivers. */
import type { CursorDeliverOptions, CursorDelivery } from './log-cursor.ts';
import type { MessageLog } from './message-log.ts';

export type Delivery = CursorDelivery<MessageLog>;
export type DeliverOptions = CursorDeliverOptions<MessageLog>;

/** The receipt of a delivery of one message. */
export function receiptOf({ cursor, firstSeq, holdNumber }: Delivery, epoch: number): string {
  return `${cursor.log.id}.${firstSeq}.${epoch}.${holdNumber}`;
}
