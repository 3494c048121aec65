/**
 * Draws every chart from fixed data and compares it with an SVG file. Changes of these files are reviewed like code.
 */
import type { ClusterLoad } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { createScalingChart } from '../src/charts/scaling-chart.ts';
import { createTimeChart } from '../src/charts/time-chart.ts';
import { createTopologyChart } from '../src/charts/topology-chart.ts';
import { lineNames } from '../src/model/line-labels.ts';
import { loadMarks } from '../src/model/load-chart-data.ts';
import { scalingSeries } from '../src/model/scaling-series.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import {
  cpuMarks,
  latencyMarks,
  rateMarks,
  type TimeMarks,
  waitMarks,
} from '../src/model/time-chart-data.ts';
import { timeRange, timeSamples } from '../src/model/time-series.ts';
import { layoutTopology } from '../src/model/topology-layout.ts';
import { overThreads, sweep } from './fixtures/points.ts';
import { metric, program } from './fixtures/program.ts';
import { recorded } from './fixtures/recorded.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

const noEvents = { onCursor: () => {}, onSelect: () => {} };
const references = [
  {
    label: 'White paper: sharded reaches 76,000/s',
    shortLabel: '76,000/s',
    value: 76_000,
    system: 'sharded',
  },
  {
    label: 'White paper: unsharded under 8,000/s',
    shortLabel: '8,000/s',
    value: 8_000,
    system: 'unsharded',
  },
] as const;

const axis = sweepAxis(overThreads, program)!;
const allSeries = () =>
  scalingSeries(sweep(), { metric, roundTrip: 'all', axis, sweep: overThreads, program });
const scalingData = (width: number, height: number) => ({
  width,
  height,
  panels: [{ id: 'all', title: '', series: allSeries(), live: null }],
  domain: null,
  labelWidth: null,
  axis,
  xs: [1, 4, 16, 32],
  references,
  hasLinearGuide: true,
  formatAxis: metric.formatAxis,
  cursor: null,
  selected: null,
});

test('the scaling chart of a whole sweep, with reference lines of the document', async () => {
  const element = svgElement();
  createScalingChart(element, noEvents).update(scalingData(720, 440));
  await expect(savedFile(element, 'Dequeue rate over threads')).toMatchFileSnapshot('__svg__/scaling.svg');
});

test('the scaling chart on a phone, in the dark theme, with a cursor and a selected point', async () => {
  const element = svgElement();
  const data = scalingData(320, 300);
  const [first, second] = allSeries();
  createScalingChart(element, noEvents).update({
    ...data,
    cursor: first!.points[2]!.key,
    selected: second!.points[1]!.key,
  });
  await expect(savedFile(element, 'Dequeue rate over threads', 'dark')).toMatchFileSnapshot(
    '__svg__/scaling-narrow-dark.svg',
  );
});

test('small multiples on shared axes, with intervals, labels at the lines and the trial under way', async () => {
  const element = svgElement();
  const repeated = sweep().map((point) => {
    const { value } = point.figures.dequeuePerSec!;
    const repeats = [0.8, 0.9, 1, 1.1, 1.25].map((factor) => factor * value);
    return {
      ...point,
      figures: { ...point.figures, dequeuePerSec: { ...point.figures.dequeuePerSec!, repeats } },
    };
  });
  const panels = [0, 1].map((roundTrip) => ({
    id: `trip-${roundTrip}`,
    title: roundTrip === 0 ? 'No round trip' : '1 ms round trip, emulated',
    series: scalingSeries(repeated, { metric, roundTrip, axis, sweep: overThreads, program }).map((each) => ({
      ...each,
      name: lineNames({ hasSystems: true, hasInstances: true })(each),
    })),
    live: roundTrip === 0 ? null : { x: 16, value: 3_000, system: 'sharded' },
  }));
  createScalingChart(element, noEvents).update({
    ...scalingData(820, 300),
    panels,
    domain: [100, 100_000],
    labelWidth: 86,
  });
  await expect(savedFile(element, 'Dequeue rate over threads')).toMatchFileSnapshot(
    '__svg__/scaling-panels.svg',
  );
});

test('a curve of a document, behind our lines', async () => {
  const element = svgElement();
  createScalingChart(element, noEvents).update({
    ...scalingData(560, 320),
    panels: [{ id: 'all', title: '', series: allSeries().slice(0, 1), live: null }],
    references: [],
    curves: [
      {
        id: 'table',
        label: 'The document, its table',
        system: 'sharded',
        points: [1, 4, 16, 32].map((x) => ({ x, value: 1_500 * x ** 0.8 })),
      },
    ],
  });
  await expect(savedFile(element, 'Dequeue rate over threads')).toMatchFileSnapshot(
    '__svg__/scaling-document-curve.svg',
  );
});

test('an updated chart equals a new chart with the same data', () => {
  const [once, twice] = [svgElement(), svgElement()];
  createScalingChart(once, noEvents).update(scalingData(720, 440));
  const chart = createScalingChart(twice, noEvents);
  chart.update({
    ...scalingData(400, 300),
    panels: [{ id: 'all', title: '', series: allSeries().slice(0, 2), live: null }],
    references: [],
  });
  chart.update(scalingData(720, 440));
  const parts = (element: SVGSVGElement) =>
    savedFile(element, 'x')
      .split('\n')
      .map((line) => line.replace(' data-new', ''))
      .sort();
  expect(parts(twice)).toEqual(parts(once));
});

test('a destroyed chart leaves no elements', () => {
  const element = svgElement();
  const chart = createScalingChart(element, noEvents);
  chart.update(scalingData(720, 440));
  chart.destroy();
  expect(element.childNodes.length).toBe(0);
});

const { run, ticks } = recorded;
const range = timeRange(ticks);
const trials = timeSamples(ticks, range);

const overTime: { name: string; title: string; marks: TimeMarks; scale: 'linear' | 'log'; cores: boolean }[] =
  [
    { name: 'rate', title: 'Rate', marks: rateMarks(trials), scale: 'log', cores: false },
    { name: 'latency', title: 'Latency', marks: latencyMarks(trials), scale: 'log', cores: false },
    { name: 'cpu', title: 'CPU by instance', marks: cpuMarks(trials), scale: 'linear', cores: true },
    { name: 'waits', title: 'Waits by class', marks: waitMarks(trials), scale: 'linear', cores: true },
  ];

test.each(overTime)(
  'the time chart of $name over a recorded run',
  async ({ name, title, marks, scale, cores }) => {
    const element = svgElement();
    const chart = createTimeChart(element, { onCursor: () => {} });
    chart.update({
      width: 560,
      height: 190,
      range,
      marks,
      trials,
      scale,
      reference: cores ? run.environment!.cores : null,
      formatAxis: metric.formatAxis,
    });
    chart.moveCursor(6_000);
    await expect(savedFile(element, title)).toMatchFileSnapshot(`__svg__/time-${name}.svg`);
  },
);

test('the cursor is hidden outside the time range', () => {
  const element = svgElement();
  const chart = createTimeChart(element, { onCursor: () => {} });
  chart.update({
    width: 400,
    height: 190,
    range: { fromMs: 2_000, toMs: 4_000 },
    marks: rateMarks([]),
    trials: [],
    scale: 'linear',
    reference: null,
    formatAxis: String,
  });
  const line = element.querySelector('[data-part=cursor]')!;
  chart.moveCursor(3_000);
  expect(line.getAttribute('visibility')).toBe('visible');
  chart.moveCursor(1_000);
  expect(line.getAttribute('visibility')).toBe('hidden');
  chart.moveCursor(null);
  expect(line.getAttribute('visibility')).toBe('hidden');
});

test('a time chart without values has no value axis, and says why', () => {
  const element = svgElement();
  const chart = createTimeChart(element, { onCursor: () => {} });
  const textsOf = (shown: TimeMarks): string[] => {
    chart.update({
      width: 400,
      height: 190,
      range: { fromMs: 0, toMs: 4_000 },
      marks: shown,
      trials: [],
      scale: 'linear',
      reference: null,
      note: 'No delivery was measured',
      formatAxis: String,
    });
    return [...element.querySelectorAll('[data-part=left-axis] text, [data-part=note] text')].map(
      ({ textContent }) => textContent ?? '',
    );
  };
  expect(textsOf(rateMarks([]))).toEqual(['No delivery was measured']);
  const zero = { system: 'sharded', roundTripMs: 0, role: 'primary' as const };
  const points = [0, 4_000].map((atMs) => ({ atMs, value: 0 }));
  expect(textsOf({ ...rateMarks([]), lines: [{ id: 'a', ...zero, points }] })).not.toContain(
    'No delivery was measured',
  );
});

test.each(['sharded', 'unsharded'] as const)('the topology of two instances, %s', async (system) => {
  const tick = ticks.find((candidate) => candidate.system === system && candidate.params.instances === 2)!;
  const element = svgElement();
  createTopologyChart(element).update(
    layoutTopology(tick, { width: 640, cores: 2, rateMax: 40_000, backlogMax: 20_000 }),
  );
  await expect(savedFile(element, `Topology, ${system}`)).toMatchFileSnapshot(
    `__svg__/topology-${system}.svg`,
  );
});

test('the time chart with annotations: labels that would overlap are drawn in rows', async () => {
  const samples = [600, 480, 500, 0, 120, 640, 500, 490].map((perSec, index) => ({
    atMs: 500 * (index + 1),
    acknowledgedPerSec: perSec,
    consumedPerSec: Math.max(0, perSec - 40),
  }));
  const load = { samples, startedAtMs: 0 } as unknown as ClusterLoad;
  const element = svgElement();
  createTimeChart(element, noEvents).update({
    width: 560,
    height: 190,
    range: { fromMs: 0, toMs: 5_000 },
    marks: loadMarks(load),
    annotations: [
      { atMs: 1_800, label: '2 killed' },
      { atMs: 2_100, label: '2 taken over' },
      { atMs: 2_600, label: '2 returned' },
      { atMs: 4_900, label: '1 paused' },
    ],
    trials: [],
    scale: 'linear',
    reference: null,
    formatAxis: metric.formatAxis,
  });
  await expect(savedFile(element, 'Throughput of the load')).toMatchFileSnapshot(
    '__svg__/time-annotations.svg',
  );
});
