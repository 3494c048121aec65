import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TickHistory } from '../src/runs/tick-history.ts';

/** A tick of a time, with this many characters at least. */
const tick = (atMs: number, size = 10): string => `${atMs}`.padEnd(size);
const timesOf = ({ json }: TickHistory) => JSON.parse(json) as number[];

describe('the ticks that are kept', () => {
  it('are all ticks while there are few', () => {
    const history = new TickHistory({ countMax: 4, bytesMax: 1000 });
    for (let at = 0; at < 4; at++) expect(history.add(tick(at))).toEqual({ keepAs: at, thinTo: null });
    expect(timesOf(history)).toEqual([0, 1, 2, 3]);
  });

  it('stay within their bounds and evenly spread, and a copy that follows the returned instructions is the same', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 300 });
    fc.assert(
      fc.property(
        sizes,
        fc.integer({ min: 2, max: 20 }),
        fc.integer({ min: 60, max: 300 }),
        (bytes, countMax, bytesMax) => {
          const history = new TickHistory({ countMax, bytesMax });
          let copy: number[] = [];
          for (const [at, size] of bytes.entries()) {
            const { keepAs, thinTo } = history.add(tick(at, size));
            if (keepAs !== null) copy.push(keepAs);
            if (thinTo !== null) copy = copy.filter((tick) => tick % thinTo === 0);
            const kept = timesOf(history);
            expect(kept).toEqual(copy);
            expect(kept.length).toBeLessThanOrEqual(countMax);
            const total = kept.reduce((sum, at) => sum + tick(at, bytes[at]).length, 0);
            expect(total).toBeLessThanOrEqual(bytesMax);
            const gaps = new Set(kept.slice(1).map((tick, index) => tick - kept[index]!));
            expect(gaps.size).toBeLessThanOrEqual(1);
          }
        },
      ),
    );
  });
});
