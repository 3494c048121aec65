/** How the order of deliveries is checked in a client process, by what the system promises. */

import { DeliveryOrder, type OrderCheck, RecoveredOrder } from '../integrity/ledger.ts';
import type { System } from '../systems/system.ts';

const anyOrder: OrderCheck = { inOrder: () => true };

/** `recovered`: what a kill left in the queue comes to each consumer in the order of its enqueuer, whatever was delivered before. */
export type ConsumerOrder = System['order'] | 'recovered';

/** One check for each consumer. That of a queue over all consumers is made at the end: see `DeliverySpans`. */
export function consumerOrders({
  order,
  consumers,
}: {
  order: ConsumerOrder;
  consumers: number;
}): OrderCheck[] {
  if (order === 'recovered') return Array.from({ length: consumers }, () => new RecoveredOrder());
  const shared = order === 'none' ? anyOrder : new DeliveryOrder();
  return Array.from({ length: consumers }, () =>
    order === 'consumer' || order === 'queue' ? new DeliveryOrder() : shared,
  );
}
