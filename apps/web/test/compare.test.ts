import type { Point, Run } from '@shardlab/contract';
import { percentileTicks } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import { createCompareChart } from '../src/charts/compare-chart.ts';
import { lineColors } from '../src/charts/visual-encoding.ts';
import { comparedPoints, comparisonInWords, configDifferences, isClear } from '../src/model/compare-runs.ts';
import { formatRatioTick } from '../src/model/format-change.ts';
import { toHgrm } from '../src/model/hgrm.ts';
import { readCompareSearch } from '../src/pages/compare/compare-search.ts';
import { readExplainSearch } from '../src/pages/explain/explain-search.ts';
import { point } from './fixtures/points.ts';
import { program } from './fixtures/program.ts';
import { recorded } from './fixtures/recorded.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

const noise = [0.98, 1.01, 1, 1.02, 0.99];
const measured = (
  threads: number,
  perSec: number,
  options: { payloadBytes?: number; repeats?: number } = {},
): Point => {
  const { payloadBytes = 512, repeats = 5 } = options;
  const made = point({ threads, dequeuePerSec: perSec });
  return {
    ...made,
    params: { ...made.params, payloadBytes },
    figures: {
      dequeuePerSec: {
        ...made.figures.dequeuePerSec!,
        repeats: noise.slice(0, repeats).map((factor) => factor * perSec),
      },
    },
  };
};
const run = (id: string, points: Point[], parameters: Run['scenario']['parameters'] = {}): Run => ({
  ...recorded.run,
  id,
  points,
  scenario: { ...recorded.run.scenario, parameters: { ...recorded.run.scenario.parameters, ...parameters } },
});

const slow = run('a', [measured(1, 1_000), measured(8, 4_000), measured(32, 5_000)]);
const fast = run(
  'b',
  [
    measured(1, 1_500, { payloadBytes: 2_048 }),
    measured(8, 4_010, { payloadBytes: 2_048 }),
    measured(32, 2_500, { payloadBytes: 2_048 }),
    measured(64, 9_000, { payloadBytes: 2_048 }),
  ],
  { payloadBytes: 2_048 },
);

const noEvents = { onCursor: () => {}, onSelect: () => {} };

describe('a comparison of runs', () => {
  test('names exactly the settings in which they differ', () => {
    expect(configDifferences([slow, fast], program)).toEqual([
      { name: 'Payload bytes', values: ['512', '2048'] },
    ]);
    const longer: Run = {
      ...slow,
      scale: 'full',
      scenario: { ...slow.scenario, phases: { ...slow.scenario.phases, warmupMs: 7_000 } },
    };
    expect(configDifferences([{ ...slow, scale: 'full' }, longer], program)).toEqual([
      { name: 'Warm-up', values: [expect.any(String), '7\u202fs'] },
    ]);
    expect(configDifferences([slow, slow], program)).toEqual([]);
    const elsewhere = { ...slow, environment: { ...slow.environment!, cores: 64 } };
    expect(configDifferences([slow, elsewhere], program)).toEqual([
      { name: 'Processor', values: [expect.any(String), expect.stringMatching(/^64 × /)] },
    ]);
  });

  test('matches points by the varied parameters, except the one that is examined', () => {
    const rows = comparedPoints([slow, fast], 'dequeuePerSec', program);
    expect(rows.map(({ words }) => words)).toEqual([
      'sharded, 1 thread',
      'sharded, 8 threads',
      'sharded, 32 threads',
    ]);
    expect(rows.map(({ ratios }) => ratios[0])).toEqual([null, null, null]);
  });

  test('has an interval from five repeats on, which shows whether a figure changed', () => {
    const rows = comparedPoints([slow, fast], 'dequeuePerSec', program);
    const ratios = rows.map(({ ratios: each }) => each[1]!);
    expect(ratios.map(({ ratio }) => Math.round(ratio * 100) / 100)).toEqual([1.5, 1, 0.5]);
    expect(ratios.map(isClear)).toEqual([true, false, true]);
    expect(comparisonInWords(rows, 1)).toBe(
      '1.00 × the baseline at the middle of 3 points; clearly higher at 1, lower at 1',
    );
  });

  test('has no interval from fewer repeats, and says so', () => {
    const few = run('c', [measured(1, 1_200, { repeats: 2 })]);
    const rows = comparedPoints([slow, few], 'dequeuePerSec', program);
    expect(rows[0]!.ratios[1]!.interval).toBeNull();
    expect(comparisonInWords(rows, 1)).toContain('no interval');
    expect(comparisonInWords([], 1)).toBe('no points in common with the baseline');
  });

  test('is drawn with a bar for an interval and a line for a range', async () => {
    const few = run('c', [measured(1, 1_200, { repeats: 2 }), measured(8, 3_000, { repeats: 2 })]);
    const rows = comparedPoints([slow, fast, few], 'dequeuePerSec', program);
    const element = svgElement();
    createCompareChart(element, noEvents).update({
      width: 480,
      rows,
      colors: lineColors.slice(0, 3),
      format: formatRatioTick,
      cursor: null,
      selected: rows[0]!.key,
    });
    await expect(savedFile(element, 'Dequeue rate as a multiple')).toMatchFileSnapshot('__svg__/compare.svg');
  });

  test('has no overlapping tick labels on a phone', () => {
    const labelsAt = (width: number) => {
      const far = run('d', [measured(1, 31_000)]);
      const element = svgElement();
      createCompareChart(element, noEvents).update({
        width,
        rows: comparedPoints([slow, far], 'dequeuePerSec', program),
        colors: lineColors.slice(0, 2),
        format: formatRatioTick,
        cursor: null,
        selected: null,
      });
      const texts = [...element.querySelectorAll('text[text-anchor=middle]')];
      return texts.map(({ textContent }) => textContent?.replace('\u202f', ' '));
    };
    expect(labelsAt(600)).toEqual(['1/30 ×', '1/10 ×', '1 ×', '10 ×', '30 ×']);
    expect(labelsAt(240)).toEqual(['1/30 ×', '1 ×', '30 ×']);
  });
});

test('keeps only valid parts of a link: at most six different runs, and known values', () => {
  expect(readCompareSearch({ runs: 'a,b,a' })).toEqual({ runs: ['a', 'b'] });
  expect(readCompareSearch({ runs: [1, '', ...'abcdefgh'], metric: 'x' })).toEqual({
    runs: ['a', 'b', 'c', 'd', 'e', 'f'],
    metric: 'x',
  });
  expect(readCompareSearch({})).toEqual({ runs: [] });
  expect(readExplainSearch({ unit: 'miles', point: 'p', against: 3 })).toEqual({ point: 'p' });
});

test('has a percentile file in the format of HdrHistogram’s plotter', () => {
  const lines = toHgrm({ p50: 1, p90: 2, p99: 4, p999: 8, max: 16, count: 10_000 }).split('\n');
  expect(lines[0]!.trim().split(/\s+/)).toEqual(['Value', 'Percentile', 'TotalCount', '1/(1-Percentile)']);
  expect(lines[4]!.trim().split(/\s+/)).toEqual(['4.000', '0.990000000000', '9900', '100.00']);
  expect(lines[6]!.trim().split(/\s+/)).toEqual(['16.000', '1.000000000000', '10000', 'inf']);
});

test('has a row of a whole distribution for each tick of HdrHistogram', () => {
  const ticks = percentileTicks(4);
  const ticksUs = ticks.map((share) => Math.round(share * 4_000));
  const latency = { p50: 2, p90: 4, p99: 4, p999: 4, max: 4, count: 4 };
  const text = toHgrm({ ...latency, distribution: { mean: 2.5, deviation: 1.118, ticksUs } });
  const rows = text.split('\n').slice(2);
  expect(rows[0]!.trim().split(/\s+/)).toEqual(['0.000', '0.000000000000', '0', '1.00']);
  expect(rows[5]!.trim().split(/\s+/)).toEqual(['2.000', '0.500000000000', '2', '2.00']);
  expect(rows[15]!.trim().split(/\s+/)).toEqual(['4.000', '1.000000000000', '4', 'inf']);
  expect(rows[16]).toMatch(/^#\[Mean +=\s+2\.500, StdDeviation +=\s+1\.118\]$/);
  expect(rows[17]).toMatch(/^#\[Max +=\s+4\.000, Total count +=\s+4\]$/);
});
