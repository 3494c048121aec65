import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Heap } from '../src/model/heap.ts';

interface Item {
  key: number;
  index: number;
}

const emptyHeap = (onCompared: () => void = () => undefined) =>
  new Heap<Item>(
    (a, b) => {
      onCompared();
      return a.key < b.key;
    },
    (item, index) => {
      item.index = index;
    },
  );

it('has the least item first, whatever is added, removed and changed', () => {
  const step = fc.tuple(fc.constantFrom('add', 'remove', 'first', 'change'), fc.nat(20), fc.nat());
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = emptyHeap();
      const model = new Set<Item>();
      for (const [what, key, pick] of steps) {
        const chosen = [...model][model.size === 0 ? 0 : pick % model.size];
        if (what === 'add' || chosen === undefined) {
          const item = { key, index: -1 };
          model.add(item);
          heap.add(item);
        } else if (what === 'change') {
          chosen.key = key;
          heap.reorderAt(chosen.index);
        } else {
          const removed = what === 'first' ? heap.removeFirst()! : heap.removeAt(chosen.index);
          expect(removed.index).toBe(-1);
          expect(model.delete(removed)).toBe(true);
        }
        expect(heap.size).toBe(model.size);
        expect(heap.first?.key).toBe(
          model.size === 0 ? undefined : Math.min(...[...model].map((i) => i.key)),
        );
        for (const item of model) expect(heap.items[item.index]).toBe(item);
      }
    }),
  );
});

it('compares a few times for each item, in whatever order they come and go', () => {
  const count = 4_096; // two to the twelfth
  const keys = Array.from({ length: count }, (_, i) => i);
  for (const order of [keys, keys.toReversed(), keys.map((key) => (key * 2_731) % count)]) {
    let compared = 0;
    const heap = emptyHeap(() => {
      compared += 1;
    });
    const items = order.map((key) => ({ key, index: -1 }));
    for (const item of items) heap.add(item);
    for (const item of items.slice(0, count / 2)) heap.removeAt(item.index);
    const rest = Array.from({ length: count / 2 }, () => heap.removeFirst()!.key);
    expect(rest).toEqual(rest.toSorted((a, b) => a - b));
    expect(compared / count).toBeLessThan(3 * 12);
  }
});
