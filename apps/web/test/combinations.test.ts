/** Figures of runs without an axis: each combination of parameters has a named row, a bar, and the range of its repeats. */
import type { Params, Point, ProgramInfo, Run, Scenario } from '@shardlab/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCombinationChart } from '../src/charts/combination-chart.ts';
import { systemColor } from '../src/charts/visual-encoding.ts';
import { layoutCombinations } from '../src/model/combination-layout.ts';
import { combinationRows, combinationTable, moveRow, variedInWords } from '../src/model/combination-rows.ts';
import { metricsOf } from '../src/model/point-metrics.ts';
import { scalingView } from '../src/model/scaling-view.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import { textWidth, wrapText } from '../src/model/text-lines.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

const program: ProgramInfo = {
  id: 'xa',
  title: 'Transactions',
  hasTicks: false,
  parameters: [
    {
      name: 'coupling',
      title: 'coupling',
      over: 'the coupling of the branches',
      names: { loose: 'loosely coupled', tight: 'tightly coupled, a lock from start to end' },
    },
    // Values of this parameter are words, although they have no names.
    { name: 'fault', title: 'fault', over: 'faults', one: '{}', many: '{}' },
    { name: 'instances', title: 'instances', over: 'instances', one: '{} instance', many: '{} instances' },
    { name: 'syncMs', title: 'sync', over: 'the emulated sync', many: 'sync of {} ms' },
  ],
  figures: [
    { name: 'gapMs', label: 'Gap', title: 'Time without the service', unit: 'ms', format: 'milliseconds' },
    { name: 'lost', label: 'Lost', title: 'Messages lost', unit: 'messages', format: 'count' },
  ],
};
const [gap, lost] = metricsOf(program);

const sweep = { coupling: ['loose', 'tight'], fault: ['none', 'kill'], instances: [1, 2] };

const scenario = (change: Partial<Scenario> = {}) =>
  ({ systems: ['xa-embedded'], parameters: {}, sweep, ...change }) as Scenario;

function point(params: Params, figures: Record<string, number[]>, system = 'xa-embedded'): Point {
  return {
    program: 'xa',
    system,
    params: { syncMs: 0, ...params },
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, repeats]) => [
        name,
        {
          value: repeats[Math.floor(repeats.length / 2)]!,
          unit: '',
          provenance: 'measured' as const,
          repeats,
        },
      ]),
    ),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: [],
  };
}

const points = [
  point({ coupling: 'loose', fault: 'none', instances: 1 }, { lost: [0] }),
  point({ coupling: 'loose', fault: 'kill', instances: 1 }, { gapMs: [2_000, 2_400, 2_600], lost: [0] }),
  point({ coupling: 'loose', fault: 'kill', instances: 2 }, { gapMs: [900, 950, 1_100], lost: [1] }),
  point({ coupling: 'tight', fault: 'none', instances: 1 }, { lost: [0] }),
  point({ coupling: 'tight', fault: 'kill', instances: 1 }, { gapMs: [3_000], lost: [0] }),
];
const run = (change: Partial<Scenario> = {}, scale: Run['scale'] = 'full') => ({
  scenario: scenario(change),
  scale,
  points,
});
const view = (metric = gap!) => combinationRows(run(), { program, metric, live: null });

describe('a run has no axis', () => {
  test('if its sweep varies words, instances or a parameter that may be zero', () => {
    expect(sweepAxis(sweep, program)).toBeNull();
    expect(sweepAxis({}, program)).toBeNull();
    expect(sweepAxis({ syncMs: [0, 5] }, program)).toBeNull();
    expect(sweepAxis({ ...sweep, syncMs: [0.7, 21] }, program)?.id).toBe('syncMs');
    expect(
      scalingView(run(), { program, metric: gap!, expectsPoints: true, live: null, tables: [] }),
    ).toBeNull();
  });

  test('at a scale whose sweep has only one value of the axis', () => {
    const change = { sweep: { ...sweep, syncMs: [1, 10] }, quick: { sweep: { syncMs: [1] } } };
    const options = { program, metric: gap!, expectsPoints: true, live: null, tables: [] };
    expect(scalingView(run(change), options)?.axis.id).toBe('syncMs');
    expect(scalingView(run(change, 'quick'), options)).toBeNull();
  });
});

describe('the rows of a run', () => {
  test('are only the measured combinations once it is done', () => {
    const planned = view().rows.length;
    const { rows, leftOut } = combinationRows(
      { ...run(), status: 'done' },
      { program, metric: gap!, live: null },
    );
    expect(rows).toHaveLength(points.length);
    expect(leftOut).toBe(planned - points.length);
    const none = { ...run(), points: [], status: 'done' as const };
    expect(combinationRows(none, { program, metric: gap!, live: null }).rows).toHaveLength(planned);
  });

  test('are those of its plan, named by the varied parameters, with the value of each measured point', () => {
    expect(view().rows.map(({ name, value, text }) => [name, value, text])).toEqual([
      ['loosely coupled, none, 1 instance', null, 'none'],
      ['loosely coupled, none, 2 instances', null, 'not measured'],
      ['loosely coupled, kill, 1 instance', 2_400, '2.4\u202fs'],
      ['loosely coupled, kill, 2 instances', 950, '950\u202fms'],
      ['tightly coupled, a lock from start to end, none, 1 instance', null, 'none'],
      ['tightly coupled, a lock from start to end, none, 2 instances', null, 'not measured'],
      ['tightly coupled, a lock from start to end, kill, 1 instance', 3_000, '3\u202fs'],
      ['tightly coupled, a lock from start to end, kill, 2 instances', null, 'not measured'],
    ]);
  });

  test('are fewer for a system that is measured at some of the values only', () => {
    const sweepOf = { 'xa-remote': { fault: ['kill'], instances: [2] } };
    const systems = ['xa-embedded', 'xa-remote'];
    const { rows } = combinationRows(
      { scenario: scenario({ systems, sweepOf }), scale: 'full', points: [] },
      { program, metric: gap!, live: null },
    );
    const remote = rows.filter(({ system }) => system === 'xa-remote');
    expect(rows).toHaveLength(8 + 2);
    expect(remote.map(({ name }) => name)).toEqual([
      'XA remote, loosely coupled, kill, 2 instances',
      'XA remote, tightly coupled, a lock from start to end, kill, 2 instances',
    ]);
  });

  test('show a value of zero, which an axis of powers of ten could not', () => {
    expect(view(lost).rows.flatMap(({ value, text }) => (value === null ? [] : [text]))).toEqual([
      '0',
      '0',
      '1',
      '0',
      '0',
    ]);
  });

  test('have the range of their repeats, and none with a single one', () => {
    const ranges = view().rows.flatMap(({ value, range }) => (value === null ? [] : [range]));
    expect(ranges).toEqual([[2_000, 2_600], [900, 1_100], null]);
  });

  test('name the system if there are several, or nothing else varies', () => {
    const one = combinationRows(run({ sweep: {} }), { program, metric: gap!, live: null });
    expect(one.rows.map(({ name }) => name)).toEqual(['XA embedded']);
    const two = run({ sweep: { fault: ['none', 'kill'] }, systems: ['xa-embedded', 'xa-remote'] });
    const rows = combinationRows(two, { program, metric: gap!, live: null }).rows;
    expect(rows.map(({ name }) => name)).toEqual([
      'XA embedded, none',
      'XA remote, none',
      'XA embedded, kill',
      'XA remote, kill',
    ]);
    expect(variedInWords(two, program)).toBe('by the system and faults');
    expect(variedInWords(run(), program)).toBe('by the coupling of the branches, faults and instances');
    expect(variedInWords(run({ sweep: {} }), program)).toBe('');
  });

  test('are a table with unrounded values', () => {
    expect(combinationTable(view().rows, 'Gap (ms)').rows[2]).toEqual([
      'loosely coupled, kill, 1 instance',
      'xa-embedded',
      2_400,
      2_000,
      2_600,
    ]);
  });

  test('are selected with arrow keys, which stop at the ends', () => {
    const { rows } = view();
    const first = moveRow(rows, null, 'ArrowDown');
    expect(first).toBe(rows[0]!.key);
    expect(moveRow(rows, first, 'ArrowRight')).toBe(rows[1]!.key);
    expect(moveRow(rows, first, 'ArrowUp')).toBe(first);
    expect(moveRow(rows, null, 'ArrowUp')).toBe(rows.at(-1)!.key);
    expect(moveRow(rows, rows.at(-1)!.key, 'ArrowDown')).toBe(rows.at(-1)!.key);
    expect(moveRow(rows, first, 'x')).toBeNull();
    expect(moveRow([], null, 'End')).toBeNull();
  });
});

describe('the chart of combinations', () => {
  test('keeps whole names, bars and values inside of its width, and rows apart', () => {
    for (const width of [300, 390, 560, 880, 1_400]) {
      const layout = layoutCombinations(view(), width);
      for (const { row, lines } of layout.rows) {
        const end = layout.x(Math.max(row.value ?? 0, row.range?.[1] ?? 0));
        expect(end + 8 + textWidth(row.text)).toBeLessThanOrEqual(width);
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join(' ')).toBe(row.name);
      }
      layout.rows.forEach(({ top, nameY, lines, barY, height }, index) => {
        expect(top).toBe(
          index === 0 ? layout.top : layout.rows[index - 1]!.top + layout.rows[index - 1]!.height,
        );
        expect(nameY + (lines.length - 1) * 13).toBeLessThanOrEqual(top + height);
        expect(barY + 5.5).toBeLessThanOrEqual(top + height);
      });
    }
  });

  const draw = (width: number, theme: 'light' | 'dark') => {
    const element = svgElement();
    const references = [{ label: 'The document: 5 s', value: 5_000, system: 'sharded' }];
    const rows = view().rows;
    createCombinationChart(element, { onCursor: () => {}, onSelect: () => {} }).update({
      width,
      view: { rows, leftOut: 0, references, live: null },
      color: systemColor,
      formatAxis: gap!.formatAxis,
      cursor: rows[3]!.key,
      selected: rows[2]!.key,
    });
    return savedFile(element, 'Time without the service', theme);
  };

  test('is drawn with names beside the bars', async () => {
    await expect(draw(880, 'light')).toMatchFileSnapshot('__svg__/combinations.svg');
  });

  test('is drawn on a phone with names above the bars, in the dark theme', async () => {
    await expect(draw(320, 'dark')).toMatchFileSnapshot('__svg__/combinations-narrow-dark.svg');
  });
});

test('a text breaks between words into lines that fit, and ends with an ellipsis if it is cut', () => {
  expect(wrapText('tightly coupled, 2 instances', 100, 2)).toEqual(['tightly coupled,', '2 instances']);
  expect(wrapText('one two three four five', 60, 2)).toEqual(['one two', 'three fou…']);
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 40, max: 300 }),
      fc.integer({ min: 1, max: 3 }),
      (words, widthPx, linesMax) => {
        const lines = wrapText(words.join(' '), widthPx, linesMax);
        expect(lines.length).toBeLessThanOrEqual(linesMax);
        for (const line of lines)
          expect(textWidth(line)).toBeLessThanOrEqual(Math.max(widthPx, textWidth('four')));
        if (!lines.at(-1)!.endsWith('…') && words.every((each) => textWidth(each) <= widthPx))
          expect(lines.join(' ')).toBe(words.join(' '));
      },
    ),
  );
});
