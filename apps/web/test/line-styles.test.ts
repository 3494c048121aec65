/** Each line of a chart has a name and a style that no other line has. */
import type { Params, Scenario } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import { lineStyles } from '../src/charts/line-styles.ts';
import { labelRoom, lineLabelHint, placeLineLabels } from '../src/model/line-labels.ts';
import { scalingGeometry } from '../src/model/scaling-geometry.ts';
import { scalingView } from '../src/model/scaling-view.ts';
import { textWidth } from '../src/model/text-lines.ts';
import { point } from './fixtures/points.ts';
import { metric, program } from './fixtures/program.ts';

/** The view of a scenario with all points measured. */
function viewOf(systems: string[], sweep: Scenario['sweep']) {
  const scenario = { systems, sweep, parameters: { instances: 1, threads: 4 } } as unknown as Scenario;
  const all = Object.entries(sweep).reduce<Params[]>(
    (found, [name, values]) =>
      found.flatMap((params) => values.map((value) => ({ ...params, [name]: value }))),
    [{}],
  );
  const points = all.flatMap((params) =>
    systems.map((system) => {
      const base = point({ system });
      return { ...base, params: { ...base.params, threads: 4, ...params } };
    }),
  );
  return scalingView(
    { scenario, scale: 'full', points },
    { program, metric, expectsPoints: false, live: null, tables: [] },
  )!;
}

const namesIn = (systems: string[], sweep: Scenario['sweep']) =>
  viewOf(systems, sweep).panels[0]!.series.map(({ name }) => name);

const shapes: Record<string, [systems: string[], sweep: Scenario['sweep']]> = {
  'Figure 3': [
    ['sharded', 'unsharded', 'unsharded-grouped'],
    { instances: [1, 2, 4, 8], threads: [1, 8, 32], roundTripMs: [0, 1] },
  ],
  'Figure 6': [
    ['sharded'],
    { instances: [1, 2, 4, 8], threads: [1, 32], operationsPerTransaction: [10, 100, 1_000] },
  ],
  'payload size': [['sharded', 'unsharded'], { threads: [1, 8], payloadBytes: [64, 512, 4_096] }],
  nonpersistent: [['sharded'], { threads: [1, 8, 32], instances: [1, 2], durability: ['durable', 'memory'] }],
  peers: [
    Array.from({ length: 19 }, (_, index) => (index === 1 ? 'sharded' : `system-${index}`)),
    { operationsPerTransaction: [1, 10, 1_000], payloadBytes: [100, 1_000] },
  ],
};

describe.each(Object.entries(shapes))('the lines of %s', (_, [systems, sweep]) => {
  const view = viewOf(systems, sweep);
  const styles = lineStyles(view.lines);

  test('have names that no other line of their panel has', () => {
    for (const { series } of view.panels)
      expect(new Set(series.map(({ name }) => name)).size).toBe(series.length);
  });

  test('have a colour, a dash or a mark that no other line of their panel has', () => {
    for (const { series } of view.panels) {
      const looks = series.map((entry) => {
        const { color, dash } = styles.of(entry);
        return [color, dash ?? '', entry.instances].join(' | ');
      });
      expect(new Set(looks).size).toBe(series.length);
    }
  });

  test('have labels that fit into the space that is reserved for them', () => {
    const room = labelRoom(view.names);
    for (const { series } of view.panels) {
      const frame = {
        width: 700,
        height: room.height + 74,
        margin: { top: 14, right: room.width, bottom: 42, left: 50 },
      };
      const geometry = scalingGeometry(series, { frame, xs: view.xs, references: [] });
      const labels = placeLineLabels(series, geometry);
      const rows = labels.flatMap(({ lines, y }) =>
        lines.map((line, index) => ({ line, y: y + index * 12 })),
      );
      for (const [index, { line, y }] of rows.entries()) {
        expect(8 + textWidth(line)).toBeLessThanOrEqual(room.width);
        if (index > 0) expect(y - rows[index - 1]!.y).toBeGreaterThanOrEqual(11.99);
      }
      expect(rows[0]!.y).toBeGreaterThanOrEqual(geometry.top);
      expect(rows.at(-1)!.y).toBeLessThanOrEqual(geometry.bottom + 5);
    }
  });
});

test('a line is named by the parameters that differ, and by a number alone only if a hint explains it', () => {
  expect(namesIn(['sharded', 'unsharded'], { threads: [1, 4], instances: [1, 2] })).toEqual([
    'sharded, 1',
    'sharded, 2',
    'unsharded, 1',
    'unsharded, 2',
  ]);
  expect(namesIn(['sharded'], { threads: [1, 2, 4], durability: ['durable', 'memory'] })).toEqual([
    'durable',
    'nonpersistent',
  ]);
  expect(namesIn(['sharded'], { instances: [1, 2], threads: [1, 4, 8], payloadBytes: [64, 512] })).toEqual([
    '1 instance, 64 bytes',
    '1 instance, 512 bytes',
    '2 instances, 64 bytes',
    '2 instances, 512 bytes',
  ]);
  const series = viewOf(['sharded'], { threads: [1, 4], instances: [1, 2] }).panels[0]!.series;
  expect(lineLabelHint(series)).toBe('number after a name: instances');
  expect(lineLabelHint(viewOf(['sharded'], { threads: [1, 4] }).panels[0]!.series)).toBe('');
});

test('a system has the same colour in every chart, and no other line has that colour', () => {
  const styles = lineStyles(
    ['null', 'sharded', 'redis', 'unsharded'].map((system) => ({ system, otherParams: [] })),
  );
  expect(styles.ofSystem('sharded')).toBe('var(--sharded)');
  expect(styles.ofSystem('unsharded')).toBe('var(--unsharded)');
  expect(styles.ofSystem('null')).not.toBe(styles.ofSystem('redis'));
  for (const system of ['null', 'redis'])
    expect(['var(--sharded)', 'var(--unsharded)']).not.toContain(styles.ofSystem(system));
});

test('with few values of one more parameter, colours mean systems and dashes mean the parameter', () => {
  const lines = ['sharded', 'unsharded'].flatMap((system) =>
    ['1 thread', '8 threads'].map((threads) => ({ system, otherParams: [threads] })),
  );
  expect(lines.map((line) => lineStyles(lines).of(line))).toEqual([
    { color: 'var(--sharded)', dash: null },
    { color: 'var(--sharded)', dash: '6 4' },
    { color: 'var(--unsharded)', dash: null },
    { color: 'var(--unsharded)', dash: '6 4' },
  ]);
});
