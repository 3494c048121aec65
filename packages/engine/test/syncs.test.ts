/** Synced commits are counted, so that the number of transactions per sync can be computed. */
import { expect, it } from 'vitest';
import type { Durability, QueueKind } from '../src/api/queue-settings.ts';
import { openTestInstance } from './folder.ts';

const cases: [QueueKind, Durability, number][] = [
  ['sharded', 'durable', 3],
  ['sharded', 'relaxed', 0],
  ['sharded', 'memory', 0],
  ['unsharded', 'durable', 3],
  ['unsharded', 'relaxed', 0],
  ['unsharded-grouped', 'durable', 3],
  ['unsharded-grouped', 'relaxed', 0],
];

it.each(cases)('three transactions in turn on a %s queue that is %s sync %i times', async (...given) => {
  const [kind, durability, expected] = given;
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'orders', kind, durability });
  const session = instance.openSession();
  const before = instance.stats().syncs;
  for (let transaction = 0; transaction < 3; transaction += 1) {
    session.enqueue('orders', { payload: 'a' });
    await session.commit();
  }
  expect(instance.stats().syncs - before).toBe(expected);
});
