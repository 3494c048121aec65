import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type HeldMessage, heldKey } from '../../src/storage/unsharded/message-consumer.ts';
import { HeldMessages } from '../../src/unsharded/held-messages.ts';

const message = fc.record({
  queueId: fc.integer({ min: 1, max: 2 }),
  subscriber: fc.integer({ min: 0, max: 2 }),
  id: fc.integer({ min: 1, max: 5 }),
});
const heldOf = ({ queueId, subscriber, id }: { queueId: number; subscriber: number; id: number }) => ({
  queueId,
  id,
  recipient: subscriber === 0 ? undefined : { subscriber, rank: 4 },
});
const keysOf = (messages: readonly HeldMessage[]) =>
  messages.map((held) => `${held.queueId}/${heldKey(held)}`).sort();

it('are those that were added and neither deleted nor of a deleted queue', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), message }),
    fc.record({ kind: fc.constant('delete' as const), message }),
    fc.record({ kind: fc.constant('deleteQueue' as const), message }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const held = new HeldMessages();
      const expected = new Map<string, HeldMessage>();
      for (const { kind, message } of steps) {
        const of = heldOf(message);
        if (kind === 'add') {
          held.add(message, [of]);
          expected.set(keysOf([of])[0]!, of);
        } else if (kind === 'delete') {
          held.delete([of]);
          expected.delete(keysOf([of])[0]!);
        } else {
          held.deleteQueue(message.queueId);
          for (const [key, each] of expected) if (each.queueId === message.queueId) expected.delete(key);
        }
        expect(keysOf(held.all())).toEqual([...expected.keys()].sort());
      }
      expect(held.all()).toEqual(expect.arrayContaining([...expected.values()]));
    }),
  );
});
