/** How the order of deliveries is checked in a client process, by what the system promises. */
import type { System } from '../systems/system.ts';
import { DeliveryOrder, type OrderCheck } from './ledger.ts';

const anyOrder: OrderCheck = { inOrder: () => true };

/** One check for each consumer; consumer `i` serves subscriber `i` modulo their number (1 of a queue). */
export function consumerOrders(options: {
  order: System['order'];
  consumers: number;
  subscribers: number;
}): OrderCheck[] {
  const { order, consumers, subscribers } = options;
  const shared = Array.from({ length: subscribers }, () =>
    order === 'none' ? anyOrder : new DeliveryOrder(),
  );
  return Array.from({ length: consumers }, (_, consumer) =>
    order === 'consumer' ? new DeliveryOrder() : shared[consumer % subscribers]!,
  );
}
