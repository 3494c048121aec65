/** Curves that a document prints: which charts show them, and how they are drawn. */
import type { DocumentTable, Run } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import { documentCurves } from '../src/model/document-curves.ts';
import { placeOnCurve } from '../src/model/label-placement.ts';
import { scalingGeometry } from '../src/model/scaling-geometry.ts';

const table: DocumentTable = {
  id: 'pairs',
  title: 'Pairs',
  source: 'its table',
  columns: ['pairs', 'gets'].map((name) => ({ name, title: name })),
  rows: [
    [8, 97],
    [1, 30],
    [2, 0],
    [64, 388],
  ],
  curves: { program: 'listen', over: 'pairs', system: 'shared-topic', params: { method: 'listen' } },
};

const run = (changes: object = {}) =>
  ({
    scale: 'full',
    scenario: {
      program: 'listen',
      systems: ['shared-topic'],
      parameters: { method: 'listen' },
      sweep: { pairs: [1, 8, 64] },
      ...changes,
    },
  }) as unknown as Pick<Run, 'scenario' | 'scale'>;

const { curves: _, ...noCurves } = table;

const curvesOf = (of: ReturnType<typeof run>, metric = 'gets', axis = 'pairs') =>
  documentCurves(of, [table, { ...noCurves, id: 'other' }], {
    axis: { id: axis },
    metric: { id: metric },
  });

test('a table that is marked as a curve becomes one, in order and without values that a logarithmic axis cannot show', () => {
  expect(curvesOf(run())).toEqual([
    {
      id: 'pairs',
      label: 'The document, its table',
      system: 'shared-topic',
      points: [
        { x: 1, value: 30 },
        { x: 8, value: 97 },
        { x: 64, value: 388 },
      ],
    },
  ]);
});

test('a curve is restricted to the axis of the run at its scale', () => {
  const shorter = run({ quick: { sweep: { pairs: [1, 16] } } });
  const [curve] = curvesOf({ ...shorter, scale: 'quick' });
  expect(curve?.points.map(({ x }) => x)).toEqual([1, 8]);
  expect(curvesOf(run({ sweep: { pairs: [8, 16] } })), 'one point is no curve').toEqual([]);
});

test('a curve is shown only with runs that repeat its measurement', () => {
  expect(curvesOf(run({ program: 'queue' }))).toEqual([]);
  expect(curvesOf(run(), 'rate')).toEqual([]);
  expect(curvesOf(run(), 'gets', 'copies')).toEqual([]);
  expect(curvesOf(run({ parameters: { method: 'subscriber' } }))).toEqual([]);
  expect(curvesOf(run({ sweep: { pairs: [1, 8], method: ['subscriber', 'listen'] } }))).toHaveLength(1);
});

describe('the label of a curve', () => {
  const frame = { width: 600, height: 300, margin: { top: 10, right: 10, bottom: 10, left: 40 } };
  const geometry = scalingGeometry([], { frame, xs: [1, 64], references: [], domain: [10, 1_000] });
  const text = 'The document, its table';
  const placed = (points: { x: number; value: number }[], series: { points: typeof points }[] = []) =>
    placeOnCurve(text, points, { series, geometry });

  test('ends at its last point, inside of the plot', () => {
    const inside = placed([{ x: 64, value: 388 }]);
    expect(inside.y).toBeLessThan(geometry.y(388));
    expect(inside.x).toBeGreaterThan(geometry.left);
    expect(inside.x).toBeLessThan(geometry.x(64));
    const atTop = placed([{ x: 1, value: 1_000 }]);
    expect(atTop.y).toBeGreaterThan(geometry.y(1_000));
    expect(atTop.x).toBeGreaterThanOrEqual(geometry.left);
  });

  test('does not cover the curve below it', () => {
    const falling = [
      { x: 16, value: 300 },
      { x: 32, value: 200 },
      { x: 64, value: 100 },
    ];
    expect(placed(falling).y).toBeLessThan(geometry.y(200));
  });

  test('does not cover measured lines: it is below the curve if a line is above, and moves along it if both sides are taken', () => {
    const curve = [
      { x: 1, value: 100 },
      { x: 64, value: 100 },
    ];
    const line = (from: number, value: number) => ({
      points: [
        { x: from, value },
        { x: 64, value },
      ],
    });
    expect(placed(curve).y).toBeLessThan(geometry.y(100));
    const below = placed(curve, [line(1, 120)]);
    expect(below.y).toBeGreaterThan(geometry.y(100));
    expect(below.x).toBeGreaterThan(geometry.x(8));
    const elsewhere = placed(curve, [line(12, 120), line(12, 83)]);
    expect(elsewhere.x + text.length * 5.6).toBeLessThan(geometry.x(12));
  });
});
