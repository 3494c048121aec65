/**
 * Random work on a queue with an index and on one without, which reuse each other's partitions. At any time, and after any
 * reopening, a browse for a correlation id finds exactly what a full browse shows with that id.
 */
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Instance, openInstance } from '../../src/index.ts';
import { makeFolder, text } from '../folder.ts';
import { isTorture } from '../random.ts';
import { all, put, take } from './marked.ts';

const queues = ['indexed', 'plain'] as const;
const ids = ['a', 'b', 'c'];
const message = fc.record({
  id: fc.option(fc.constantFrom(...ids), { nil: undefined }),
  priority: fc.constantFrom(0, 0, 5),
  delayed: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const queue = fc.constantFrom(...queues);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      queue,
      messages: fc.array(message, { minLength: 1, maxLength: 9 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('take' as const), queue, max: fc.integer({ min: 1, max: 15 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'compare' as const }) },
);

async function compareBrowses(instance: Instance): Promise<void> {
  for (const name of queues) {
    const everything = await all(instance, name, { limit: 50 });
    const { ready, delayed } = instance.queue(name);
    expect(everything).toHaveLength(ready + delayed);
    for (const correlationId of ids) {
      const wanted = everything.filter((each) => each.correlationId === correlationId);
      expect(text(await all(instance, name, { correlationId }))).toEqual(text(wanted));
    }
  }
}

it('a browse for a correlation id finds exactly what a full browse shows with that id', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const dir = makeFolder();
      const open = () => openInstance({ dir, partitionMessagesMax: 4 });
      let instance = await open();
      let nextPayload = 0;
      try {
        await instance.createQueue({ name: 'indexed', correlationIndex: true, priorities: true });
        await instance.createQueue({ name: 'plain', priorities: true });
        for (const each of steps) {
          if (each.kind === 'put') {
            const messages = each.messages.map(({ id, priority, delayed }) => ({
              payload: String(nextPayload++),
              priority,
              ...(id !== undefined && { correlationId: id }),
              ...(delayed && { delayMs: 3_600_000 }),
            }));
            await put(instance, each.queue, messages);
          } else if (each.kind === 'take') await take(instance, each.queue, each.max);
          else if (each.kind === 'compare') await compareBrowses(instance);
          else {
            await instance.close();
            instance = await open();
          }
        }
        await compareBrowses(instance);
      } finally {
        await instance.close();
        rmSync(dir, { recursive: true, force: true });
      }
    }),
    { numRuns: isTorture ? 24 : 4 },
  );
});
