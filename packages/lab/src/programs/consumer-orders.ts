/** How the order of deliveries is checked in a client process, by what the system promises. */

import { DeliveryOrder, type OrderCheck } from '../integrity/ledger.ts';
import type { System } from '../systems/system.ts';

const anyOrder: OrderCheck = { inOrder: () => true };

/** One check for each consumer. That of a queue over all consumers is made at the end: see `DeliverySpans`. */
export function consumerOrders({
  order,
  consumers,
}: {
  order: System['order'];
  consumers: number;
}): OrderCheck[] {
  const shared = order === 'none' ? anyOrder : new DeliveryOrder();
  return Array.from({ length: consumers }, () =>
    order === 'consumer' || order === 'queue' ? new DeliveryOrder() : shared,
  );
}
