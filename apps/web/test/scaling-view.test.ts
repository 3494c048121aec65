/** The axis of a run's figure, and the text of a panel without points. */
import type { Scenario } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { createScalingChart } from '../src/charts/scaling-chart.ts';
import { scalingView } from '../src/model/scaling-view.ts';
import { point } from './fixtures/points.ts';
import { metric, program } from './fixtures/program.ts';
import { svgElement } from './fixtures/svg-page.ts';

const sweep = { threads: [1, 8, 32], roundTripMs: [0, 10] };
const scenario = { systems: ['sharded'], sweep, parameters: { instances: 1 } } as unknown as Scenario;
/** Points of a run that measured nothing at a round trip of 10 ms. */
const points = sweep.threads.map((threads) => point({ threads, dequeuePerSec: 20_000 + 1_000 * threads }));

const viewOf = (expectsPoints: boolean, measured = points) =>
  scalingView(
    { scenario, scale: 'full', points: measured },
    { program, metric, expectsPoints, live: null, tables: [] },
  )!;

test('the axis of a run under way has room for usual rates, that of a finished one fits its values', () => {
  expect(viewOf(true).domain).toEqual([100, 100_000]);
  expect(viewOf(false).domain).toEqual([10_000, 100_000]);
});

test('a panel of a finished run says that nothing was measured, one of a run under way waits', () => {
  expect(viewOf(false).panels.map(({ note }) => note)).toEqual(['', 'not measured']);
  expect(viewOf(true).panels.map(({ note }) => note)).toEqual(['', '']);
  expect(viewOf(false, [point({ dequeuePerSec: 0 })]).panels[0]!.note, 'measured, though zero').toBe('');
});

test('the text of a panel disappears when it has points', () => {
  const element = svgElement();
  const chart = createScalingChart(element, { onCursor: () => {}, onSelect: () => {} });
  const textOf = (expectsPoints: boolean): string => {
    chart.update({
      ...viewOf(expectsPoints),
      width: 600,
      height: 300,
      labelWidth: null,
      formatAxis: metric.formatAxis,
      cursor: null,
      selected: null,
    });
    return element.textContent ?? '';
  };
  expect(textOf(false)).toContain('not measured');
  expect(textOf(true)).not.toContain('not measured');
});

test('of more lines than can be told apart, those with one combination of the other parameters are shown', () => {
  const systems = Array.from({ length: 11 }, (_, number) => `system ${number}`);
  const crowded = {
    ...scenario,
    systems,
    sweep: { threads: [1, 8, 32], operationsPerTransaction: [10, 100] },
  } as unknown as Scenario;
  const measured = systems.flatMap((system) =>
    [10, 100].map((operationsPerTransaction) => {
      const { params, ...rest } = point({ threads: 1, dequeuePerSec: 20_000 });
      return { ...rest, system, params: { ...params, operationsPerTransaction } };
    }),
  );
  const shown = (variant?: string, of: Scenario = crowded) => {
    const view = scalingView(
      { scenario: of, scale: 'full', points: measured },
      {
        program,
        metric,
        expectsPoints: false,
        live: null,
        tables: [],
        ...(variant === undefined ? {} : { variant }),
      },
    )!;
    const { variants, panels, names } = view;
    return { variant: view.variant, variants, lines: panels[0]!.series.length, names: names.length };
  };
  const variants = ['10 operations per transaction', '100 operations per transaction'];
  expect(shown()).toEqual({ variant: variants[1], variants, lines: 11, names: 11 });
  expect(shown(variants[0])).toEqual({ variant: variants[0], variants, lines: 11, names: 11 });
  expect(shown('one that was not planned').variant).toBe(variants[1]);
  expect(shown(undefined, { ...crowded, systems: systems.slice(0, 10) })).toMatchObject({
    variant: null,
    variants: [],
    names: 20,
  });
});
