/** Labels of a horizontal axis do not run into each other. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textWidth } from '../src/model/text-lines.ts';
import { labelsThatFit } from '../src/model/tick-labels.ts';

const at = (...places: [x: number, text: string][]) => places.map(([x, text]) => ({ x, text }));
const texts = (labels: readonly { text: string }[]) => labels.map(({ text }) => text);

test('all labels are shown where there is room', () => {
  expect(texts(labelsThatFit(at([0, '1'], [20, '2'], [40, '4'])))).toEqual(['1', '2', '4']);
});

test('of labels that would touch, some are left out, and the first and the last stay', () => {
  const crowded = at([0, '1k'], [60, '6k'], [80, '11k'], [92, '16k'], [100, '21k'], [106, '26k']);
  expect(texts(labelsThatFit(crowded))).toEqual(['1k', '6k', '11k', '26k']);
  expect(texts(labelsThatFit(at([0, '1k'], [4, '2k'])))).toEqual(['1k']);
});

test('no two shown labels touch, and both ends are shown if they do not touch each other', () => {
  const label = fc.record({
    x: fc.double({ min: 0, max: 300, noNaN: true }),
    text: fc.string({ maxLength: 6 }),
  });
  const inOrder = fc
    .array(label, { minLength: 1, maxLength: 20 })
    .map((all) => all.toSorted((a, b) => a.x - b.x));
  fc.assert(
    fc.property(inOrder, (labels) => {
      const shown = labelsThatFit(labels);
      for (const [index, right] of shown.entries()) {
        const left = shown[index - 1];
        if (left === undefined) continue;
        expect(right.x - left.x).toBeGreaterThanOrEqual((textWidth(left.text) + textWidth(right.text)) / 2);
      }
      const [first, last] = [labels[0]!, labels.at(-1)!];
      expect(shown[0]).toBe(first);
      const isRoomy = last.x - first.x > textWidth(first.text) + textWidth(last.text) + 3;
      if (isRoomy) expect(shown.at(-1)).toBe(last);
    }),
  );
});
