import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  placeLabel,
  placeOnRise,
  placeReferenceLabels,
  sampledPositions,
} from '../src/model/label-placement.ts';
import { placeLineLabels } from '../src/model/line-labels.ts';
import {
  coveredByLater,
  decadeDomain,
  decadeTicks,
  linearGuide,
  nearestPoint,
  scalingGeometry,
  stepDown,
  stepUp,
} from '../src/model/scaling-geometry.ts';
import {
  describeSeries,
  findPoint,
  moveCursor,
  repeatRange,
  scalingSeries,
} from '../src/model/scaling-series.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import { overThreads, point, sweep } from './fixtures/points.ts';
import { metric, program } from './fixtures/program.ts';

const frame = { width: 720, height: 440, margin: { top: 14, right: 18, bottom: 42, left: 50 } };
const axis = sweepAxis(overThreads, program)!;
const series = scalingSeries(sweep(), { metric, roundTrip: 'all', axis, sweep: overThreads, program });
const geometry = scalingGeometry(series, { frame, xs: [1, 4, 16, 32], references: [76_000] });

test('points are grouped by system, instances and round trip, and sorted by threads', () => {
  expect(series).toHaveLength(12);
  expect(describeSeries(series[0]!)).toBe('sharded, 1 instance');
  expect(describeSeries(series.at(-1)!)).toBe('unsharded, 4 instances, 1 ms round trip');
  for (const { points } of series) expect(points.map(({ x }) => x)).toEqual([1, 4, 16, 32]);
});

test('one round trip can be shown alone', () => {
  const emulated = scalingSeries(sweep(), { metric, roundTrip: 1, axis, sweep: overThreads, program });
  expect(emulated.every((entry) => entry.roundTripMs === 1)).toBe(true);
  expect(emulated).toHaveLength(6);
});

test('a point that delivered nothing is left out, since the axis is logarithmic', () => {
  const points = [point({ dequeuePerSec: 0 }), point({ threads: 4, dequeuePerSec: 10 })];
  const [only] = scalingSeries(points, { metric, roundTrip: 'all', axis, sweep: overThreads, program });
  expect(only!.points.map(({ x }) => x)).toEqual([4]);
});

test('every point lies inside the plot, for any values', () => {
  const value = fc.double({ min: 0.001, max: 1e7, noNaN: true });
  const threads = fc.integer({ min: 1, max: 256 });
  fc.assert(
    fc.property(fc.array(fc.tuple(threads, value), { minLength: 1, maxLength: 20 }), (pairs) => {
      const points = pairs.map(([count, rate]) => point({ threads: count, dequeuePerSec: rate }));
      const drawn = scalingSeries(points, { metric, roundTrip: 'all', axis, sweep: overThreads, program });
      const { x, y, left, right, top, bottom } = scalingGeometry(drawn, {
        frame,
        xs: [],
        references: [],
      });
      for (const drawnPoint of drawn.flatMap((entry) => entry.points)) {
        expect(x(drawnPoint.x)).toBeGreaterThanOrEqual(left);
        expect(x(drawnPoint.x)).toBeLessThanOrEqual(right);
        expect(y(drawnPoint.value)).toBeGreaterThanOrEqual(top);
        expect(y(drawnPoint.value)).toBeLessThanOrEqual(bottom);
      }
    }),
  );
});

test('an empty chart has complete axes', () => {
  const empty = scalingGeometry([], { frame, xs: [1, 4], references: [76_000, 8_000] });
  expect(empty.xTicks).toEqual([1, 4]);
  expect(empty.y.domain()[0]).toBeLessThan(8_000);
  expect(empty.y.domain()[1]).toBeGreaterThan(76_000);
});

test('steps of 1, 2 and 5 enclose a value', () => {
  expect([stepDown(1), stepDown(4.9), stepDown(76_000)]).toEqual([1, 2, 50_000]);
  expect([stepUp(1), stepUp(5.1), stepUp(76_000)]).toEqual([1, 10, 100_000]);
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (value) => {
      expect(stepDown(value)).toBeLessThanOrEqual(value * (1 + 1e-9));
      expect(stepUp(value)).toBeGreaterThanOrEqual(value * (1 - 1e-9));
    }),
  );
});

test('an axis over many decades has labels at powers of ten only', () => {
  expect(decadeTicks([100, 2_000])).toEqual([100, 200, 500, 1_000, 2_000]);
  expect(decadeTicks([1, 100_000])).toEqual([1, 10, 100, 1_000, 10_000, 100_000]);
});

test('the linear guide has slope one and ends at the edge of the plot', () => {
  const guide = linearGuide(geometry, { x: 1, value: 12_000 })!;
  const { x, y } = geometry;
  const slope =
    Math.log(y.invert(guide.y2) / y.invert(guide.y1)) / Math.log(x.invert(guide.x2) / x.invert(guide.x1));
  expect(slope).toBeCloseTo(1, 6);
  expect(guide.y2).toBeCloseTo(geometry.top, 6);
});

test('the nearest point is found only within the given distance', () => {
  const target = series[0]!.points[1]!;
  const position = { x: geometry.x(target.x) + 3, y: geometry.y(target.value) - 2, withinPx: 10 };
  expect(nearestPoint(series, geometry, position)?.key).toBe(target.key);
  expect(nearestPoint(series, geometry, { x: 60, y: 420, withinPx: 5 })).toBeNull();
});

test('a mark counts as covered if a later one is drawn close to it', () => {
  const here = { x: 10, y: 10 };
  const near = { x: 11, y: 12 };
  const far = { x: 10, y: 14 };
  expect(coveredByLater([here, near, far], 3)).toEqual([true, true, false]);
  expect(coveredByLater([far, here, far, here, here], 3)).toEqual([true, true, false, true, false]);
});

test('arrow keys move along a series, and to other series at the same number of threads', () => {
  const start = moveCursor(series, null, 'ArrowRight');
  expect(findPoint(series, start)!.point.x).toBe(1);
  const next = moveCursor(series, start, 'ArrowRight');
  expect(findPoint(series, next)!.point.x).toBe(4);
  const above = moveCursor(series, next, 'ArrowDown');
  const found = findPoint(series, above)!;
  expect(found.point.x).toBe(4);
  expect(found.point.value).toBeLessThan(findPoint(series, next)!.point.value);
  expect(moveCursor(series, start, 'ArrowLeft')).toBe(start);
  expect(findPoint(series, moveCursor(series, next, 'End'))!.point.x).toBe(32);
  expect(moveCursor([], null, 'ArrowRight')).toBeNull();
});

test('the label of a line covers neither points nor curves if there is space', () => {
  const y = geometry.y(76_000);
  const label = placeLabel(['the document: 76,000/s', '76,000/s'], y, { series, geometry });
  expect(label.text).toBe('the document: 76,000/s');
  const [from, to] = [label.x, label.x + label.text.length * 5.6];
  for (const { x, value } of series.flatMap((entry) => entry.points)) {
    const inside = geometry.x(x) > from && geometry.x(x) < to;
    if (inside) expect(Math.abs(geometry.y(value) - (label.y - 4))).toBeGreaterThan(6);
  }
});

test('a label that does not fit is replaced by its short form', () => {
  const narrow = scalingGeometry(series, {
    frame: { ...frame, width: 200 },
    xs: [1, 32],
    references: [76_000],
  });
  const label = placeLabel(['a label far too long for so narrow a chart', 'short'], narrow.y(76_000), {
    series,
    geometry: narrow,
  });
  expect(label.text).toBe('short');
});

test('all lines of a chart have labels in the short form if one does not fit', () => {
  const long = 'a label far too long for so narrow a chart';
  const lines = [
    { label: long, shortLabel: 'short', value: 76_000 },
    { label: 'fits', shortLabel: 'brief', value: 8_000 },
  ];
  const geometryAt = (width: number) =>
    scalingGeometry([], {
      frame: { ...frame, width },
      xs: [1, 32],
      references: lines.map(({ value }) => value),
    });
  const textsIn = (...widths: number[]) =>
    placeReferenceLabels(
      lines,
      widths.map((width) => ({ series: [], geometry: geometryAt(width) })),
    ).map((labels) => labels.map(({ text }) => text));
  expect(textsIn(200)).toEqual([['short', 'brief']]);
  expect(textsIn(500)).toEqual([[long, 'fits']]);
  expect(textsIn(500, 200), 'in the panels of one chart too').toEqual([
    ['short', 'brief'],
    ['short', 'brief'],
  ]);
});

test('the planned axis covers whole decades, so that new points seldom change it', () => {
  expect(decadeDomain([], [100, 100_000])).toEqual([100, 100_000]);
  expect(decadeDomain([350, 76_000], [100, 100_000])).toEqual([100, 100_000]);
  expect(decadeDomain([68, 120_000], [100, 100_000])).toEqual([10, 1_000_000]);
  expect(decadeDomain([100, 100])).toEqual([100, 1_000]);
  const positive = fc.double({ min: 1e-3, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(fc.array(positive, { minLength: 1, maxLength: 8 }), (values) => {
      const [low, high] = decadeDomain(values);
      expect(low).toBeLessThanOrEqual(Math.min(...values) * (1 + 1e-6));
      expect(high).toBeGreaterThanOrEqual(Math.max(...values) * (1 - 1e-6));
    }),
  );
});

test('two to four repeats give the range from lowest to highest, five and more an interval', () => {
  expect(repeatRange([5])).toBeNull();
  expect(repeatRange([5, 3, 4])).toEqual([3, 5]);
  expect(repeatRange([0, 4])).toBeNull();
  const [low, high] = repeatRange([98, 99, 100, 101, 102])!;
  expect(low).toBeGreaterThan(97);
  expect(low).toBeLessThan(98.5);
  expect(high).toBeLessThan(103);
});

test('labels at the ends of lines keep their order, do not touch, and stay in the plot', () => {
  const labels = placeLineLabels(series, geometry);
  expect(labels).toHaveLength(series.length);
  const heights = labels.map(({ y }) => y);
  for (const [index, y] of heights.entries())
    if (index > 0) expect(y - heights[index - 1]!).toBeGreaterThanOrEqual(12);
  expect(Math.min(...heights)).toBeGreaterThanOrEqual(geometry.top);
  expect(Math.max(...heights)).toBeLessThanOrEqual(geometry.bottom + 5);
});

test('the label of a single point stands beside it, unless it would cover a line there', () => {
  const first = series.map((entry) => ({ ...entry, points: entry.points.slice(0, 1) }));
  const beside = placeLineLabels(first.slice(0, 1), geometry);
  expect(beside[0]!.x).toBeLessThan(geometry.x(1) + 20);
  const [line] = series;
  const through = { ...first[1]!, points: [{ ...line!.points[0]!, key: 'same' }] };
  const labels = placeLineLabels([line!, through], geometry);
  expect(labels.map(({ x }) => x)).toEqual([geometry.right + 8, geometry.right + 8]);
});

test('the label of the linear guide covers no line', () => {
  const guide = linearGuide(geometry, series[0]!.points[0]!)!;
  const drawn = sampledPositions(series, geometry);
  const label = placeOnRise('linear', guide, { drawn, geometry });
  const to = label.x + 6 * 5.6;
  for (const { x, y } of drawn)
    if (x > label.x && x < to) expect(Math.abs(y - (label.y - 4))).toBeGreaterThan(6);
});
