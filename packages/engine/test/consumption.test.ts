import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Consumption,
  decodeRanges,
  encodeRanges,
  mergeRanges,
  rangesOfSeqs,
} from '../src/model/consumption.ts';
import { InvariantViolation } from '../src/model/invariant.ts';

const seqs = fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { maxLength: 200 });

describe('consumption', () => {
  it('has the same terminal numbers as a plain set, in whatever order messages finish', () => {
    fc.assert(
      fc.property(seqs, (order) => {
        const consumption = new Consumption(1);
        const terminal = new Set<number>();
        for (const seq of order) {
          consumption.add(seq, seq + 1);
          terminal.add(seq);
          expect(consumption.terminalCountFrom(1)).toBe(terminal.size);
        }
        let watermark = 1;
        while (terminal.has(watermark)) watermark += 1;
        expect(consumption.watermark).toBe(watermark);
        const above = consumption.ranges().flatMap(([start, end]) => spread(start, end));
        expect(above).toEqual([...terminal].filter((seq) => seq > watermark).sort((a, b) => a - b));
        expect(consumption.terminalCountBetween(50, 120)).toBe(
          [...terminal].filter((seq) => seq >= 50 && seq < 120).length,
        );
      }),
    );
  });

  it('keeps whole ranges apart until they touch', () => {
    const consumption = new Consumption(1);
    consumption.add(5, 8);
    consumption.add(10, 12);
    expect(consumption.ranges()).toEqual([
      [5, 8],
      [10, 12],
    ]);
    consumption.add(8, 10);
    expect(consumption.ranges()).toEqual([[5, 12]]);
    consumption.add(1, 5);
    expect(consumption.watermark).toBe(12);
    expect(consumption.ranges()).toEqual([]);
  });

  it('refuses to finish a message below the watermark again', () => {
    const consumption = new Consumption(1);
    consumption.add(1, 4);
    expect(() => consumption.add(2, 3)).toThrow(InvariantViolation);
    expect(() => consumption.add(6, 6)).toThrow(InvariantViolation);
  });
});

describe('ranges as bytes', () => {
  it('decode to the encoded ranges, from any base', () => {
    fc.assert(
      fc.property(seqs, fc.integer({ min: 0, max: 2 ** 45 }), (list, base) => {
        const ranges = rangesOfSeqs(list.map((seq) => base + seq));
        expect(decodeRanges(Uint8Array.from(encodeRanges(ranges, base)), base)).toEqual(ranges);
      }),
    );
  });

  it('refuse bytes that end in the middle of a number', () => {
    expect(() => decodeRanges(Uint8Array.of(0x80), 0)).toThrow(RangeError);
  });

  it('merge to the same ranges in whatever order the deltas arrive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 99 }), fc.integer({ min: 1, max: 9 }))),
        (pairs) => {
          const ranges = pairs.map(([start, length]) => [start, start + length] as const);
          const merged = mergeRanges(ranges).flatMap(([start, end]) => spread(start, end));
          const expected = new Set(ranges.flatMap(([start, end]) => spread(start, end)));
          expect(merged).toEqual([...expected].sort((a, b) => a - b));
        },
      ),
    );
  });
});

function spread(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}
