/** Which messages refer to which payload, compared with a simple list. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type PayloadReference, PayloadReferences } from '../../src/model/payload-references.ts';

const reference = fc.record({
  queueId: fc.integer({ min: 1, max: 2 }),
  shard: fc.integer({ min: 100, max: 101 }),
  seq: fc.integer({ min: 1, max: 12 }),
  payloadId: fc.integer({ min: 1, max: 4 }),
});

it('finds the messages that refer to a payload, in order, and reports when none is left', () => {
  fc.assert(
    fc.property(fc.array(reference, { maxLength: 60 }), fc.nat(13), fc.nat(13), (steps, start, end) => {
      const references = new PayloadReferences();
      let list: PayloadReference[] = [];
      for (const step of steps) {
        const each = { ...step, bytes: step.payloadId * 10 };
        const isSame = (other: PayloadReference) =>
          other.queueId === each.queueId && other.shard === each.shard && other.seq === each.seq;
        const known = list.find(isSame);
        if (known === undefined) {
          list.push(each);
          references.add(each);
        } else {
          list = list.filter((other) => other !== known);
          expect(references.remove(each)).toBe(list.some(({ payloadId }) => payloadId === known.payloadId));
        }
        expect(references.find(each.queueId, each.shard, each.seq)).toEqual(list.find(isSame));
      }
      const used = new Set(list.map(({ payloadId }) => payloadId));
      expect(references.size).toBe(list.length);
      for (const payload of [1, 2, 3, 4]) expect(references.isReferenced(payload)).toBe(used.has(payload));
      const within = list.filter(
        ({ queueId, shard, seq }) => queueId === 1 && shard === 100 && start <= seq && seq < end,
      );
      expect(references.between(1, 100, [start, end])).toEqual(within.sort((a, b) => a.seq - b.seq));
      expect([...references.all()]).toHaveLength(list.length);
    }),
  );
});

it('refuses impossible changes', () => {
  const references = new PayloadReferences();
  const one = { queueId: 1, shard: 100, seq: 1, payloadId: 1, bytes: 1 };
  references.add(one);
  expect(() => references.add({ ...one, payloadId: 2 })).toThrow(RangeError);
  expect(() => references.remove({ ...one, seq: 2 })).toThrow(RangeError);
});
