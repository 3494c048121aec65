/** Hold numbers and delivery counts of redelivered messages. */
import { expect, it } from 'vitest';
import { type Delivery, deliveryName } from '../../src/log/delivery.ts';
import { cursorOver } from './log-fixture.ts';

it('gives a redelivered message a hold number of its own, so that the earlier receipt is stale', () => {
  const { cursor, deliver } = cursorOver(['a']);
  const first = deliver()!;
  cursor.deliveries.nack([first]);
  const second = deliver()!;
  expect(second).toMatchObject({ firstSeq: 1, deliveryCount: 2 });
  expect(deliveryName(second, 1)).not.toBe(deliveryName(first, 1));
});

it('counts a delivery that was nacked, and not one that was cancelled', () => {
  const { cursor, deliver } = cursorOver(['a']);
  cursor.deliveries.cancelDelivery([deliver()!]);
  const first = deliver()!;
  expect(first.deliveryCount).toBe(1);
  cursor.deliveries.nack([first]);
  expect(deliver()!.deliveryCount).toBe(2);
});

it('does not count messages as delivered that were taken for forwarding and put back', () => {
  const { cursor, deliver } = cursorOver(['a', 'b', 'c', 'd', 'e']);
  deliver();
  const take = (max: number) => {
    const out: Delivery[] = [];
    cursor.takeForForwarding({ max, nextHoldNumber: () => 0, out });
    return out;
  };
  const taken = take(3);
  expect(cursor.deliveredEndSeq).toBe(2);
  cursor.deliveries.cancelDelivery(taken);
  expect(cursor.deliveredEndSeq).toBe(2);
  expect(deliver(2)).toMatchObject({ firstSeq: 2, deliveryCount: 1 });
  expect(cursor.deliveredEndSeq).toBe(4);
  take(2); // These two stay forwarded.
  expect(cursor.deliveredEndSeq).toBe(4);
});

it('returns and redelivers many messages one by one with a few steps for each', () => {
  const count = 1_024; // two to the tenth
  const { cursor, deliver } = cursorOver(Array.from({ length: count }, () => 'x'));
  let read = 0;
  const held = Array.from({ length: count }, () => {
    const delivery = deliver()!;
    const { firstSeq } = delivery;
    return Object.defineProperty(delivery, 'firstSeq', {
      enumerable: true,
      get: () => {
        read += 1;
        return firstSeq;
      },
    });
  });
  for (const delivery of held.toReversed()) cursor.deliveries.nack([delivery]);
  const again = Array.from({ length: count }, () => deliver()!.firstSeq);
  expect(again).toEqual(again.toSorted((a, b) => a - b));
  expect(read / count).toBeLessThan(5 * 10);
});
