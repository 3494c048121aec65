/** What a dequeue delivers. */
import type { CursorDeliverOptions, CursorDelivery } from './log-cursor.ts';
import type { MessageLog } from './message-log.ts';

export type Delivery = CursorDelivery<MessageLog>;
export type DeliverOptions = CursorDeliverOptions<MessageLog>;

/** What identifies a delivery of one message; its receipt begins with it (`model/receipt.ts`). */
export function deliveryName({ cursor, firstSeq, holdNumber }: Delivery, epoch: number): string {
  return `${cursor.log.id}.${firstSeq}.${epoch}.${holdNumber}`;
}
