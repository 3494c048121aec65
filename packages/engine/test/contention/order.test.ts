/** The order in which a subscriber of a shared queue gets its messages. */
import { expect, it } from 'vitest';
import { SessionThread, shareTopic } from './shared.ts';

const now = { visibility: 'immediate' } as const;

it.each([
  ['a sharded topic', {}],
  ['an unsharded topic', { kind: 'unsharded' }],
] as const)('messages come by priority and then in the order of their session, on %s', async (_, spec) => {
  const { shared } = await shareTopic(['a'], {}, { durability: 'relaxed', priorities: true, ...spec });
  const session = await SessionThread.open(shared);
  for (const [index, priority] of [0, 5, 9, 5, 0].entries())
    await session.enqueue(`${priority}: ${index}`, 'a', now, { priority });
  const got: unknown[] = [];
  for (let each = 0; each < 5; each += 1) {
    await session.listen(['a'], 60_000);
    got.push(await session.dequeue('a'));
  }
  expect(got).toEqual(['9: 2', '5: 1', '5: 3', '0: 0', '0: 4']);
});

it('messages of several sessions come in the order of their enqueues, on an unsharded topic', async () => {
  const spec = { durability: 'relaxed', kind: 'unsharded', priorities: true } as const;
  const { shared } = await shareTopic(['a'], {}, spec);
  const [first, second] = await Promise.all([SessionThread.open(shared), SessionThread.open(shared)]);
  for (let each = 0; each < 6; each += 1) {
    const session = each % 2 === 0 ? first : second;
    await session.enqueue(`${each}`, 'a', now, { priority: 3 });
  }
  const got: unknown[] = [];
  for (let each = 0; each < 6; each += 1) got.push(await first.dequeue('a'));
  expect(got).toEqual(['0', '1', '2', '3', '4', '5']);
});
