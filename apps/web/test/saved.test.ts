/** What users save outside of the page: pictures with legend and provenance, and reports. */
import type { ClaimResult, Run } from '@shardlab/contract';
import { symbolCircle } from 'd3-shape';
import { expect, test } from 'vitest';
import { combinationLegend } from '../src/charts/combination-chart.ts';
import { dotLegend } from '../src/charts/contention-chart.ts';
import { lineStyles } from '../src/charts/line-styles.ts';
import { scalingLegend } from '../src/charts/scaling-legend.ts';
import { type LegendItem, svgDocument } from '../src/charts/svg-document.ts';
import { herdLegend, toneColor } from '../src/charts/swimlane-chart.ts';
import { cpuLegend, latencyLegend, rateLegend, waitLegend } from '../src/charts/time-legends.ts';
import { topologyLegend } from '../src/charts/topology-chart.ts';
import { roundTripDash } from '../src/charts/visual-encoding.ts';
import { waterfallLegend } from '../src/charts/waits-waterfall.ts';
import { whatIfLegend } from '../src/charts/what-if-legend.ts';
import { htmlReport } from '../src/model/html-report.ts';
import {
  liveProvenance,
  plannedProvenance,
  runProvenance,
  simulatedProvenance,
} from '../src/model/provenance.ts';
import { runReport } from '../src/model/run-report.ts';
import { settingsInWords } from '../src/model/slider-words.ts';
import { herdLanes } from '../src/model/swimlanes.ts';
import { whatIfDefault } from '../src/model/what-if.ts';
import { program } from './fixtures/program.ts';
import { recorded } from './fixtures/recorded.ts';
import { svgElement } from './fixtures/svg-page.ts';

const saved = (legend: readonly LegendItem[], provenance = '') => {
  const element = svgElement();
  element.setAttribute('width', '300');
  element.setAttribute('height', '100');
  return svgDocument(element, { title: 'x', theme: 'light', token: () => '#123456', legend, provenance });
};
const labelsOf = (legend: readonly LegendItem[]) => legend.map(({ label }) => label);

test('a saved picture has its legend and the provenance of its data, in rows that fit', () => {
  const text = saved(
    ['write lock', 'log file sync', 'runnable', 'on CPU'].map((label) => ({
      label,
      color: 'var(--wait-commit)',
    })),
    'Shardlab, measured on this machine at full scale with five repeats, and more words <here>',
  );
  expect(text).toContain('>write lock<');
  expect(text).toContain('fill="#123456"');
  expect(text).toContain('&lt;here&gt;');
  const height = Number(/height="(\d+)"/.exec(text)![1]);
  const lowest = Math.max(...[...text.matchAll(/ y="(-?\d+)"/g)].map(([, y]) => Number(y)));
  expect(lowest).toBeLessThan(height - 34);
  expect(lowest).toBeGreaterThan(100);
});

test('a long title takes several lines above the drawing', () => {
  const element = svgElement();
  element.setAttribute('width', '300');
  element.setAttribute('height', '100');
  const title = 'At 4 × 32, 55 of 62 active sessions wait for the write lock; 0.84 of 2 cores are busy.';
  const notes = { legend: [], provenance: '', theme: 'light' as const, token: () => 'red' };
  const text = svgDocument(element, { ...notes, title });
  const lines = [...text.matchAll(/ y="(-\d+)" font-size="14"[^>]*>([^<]+)</g)];
  expect(lines.map(([, , words]) => words).join(' ')).toBe(title);
  expect(lines.length).toBeGreaterThan(1);
  const top = Number(/viewBox="-12 (-\d+)/.exec(text)![1]);
  for (const [, y] of lines) expect(Number(y)).toBeGreaterThan(top + 14);
});

test('the marks of a saved legend are those of the drawing: lines, dashes, shapes, patches', () => {
  const text = saved([
    { label: 'a patch', color: 'red', opacity: 0.5 },
    { label: 'a dashed line', color: 'green', mark: { dash: '6 4' } },
    { label: 'a thin line', color: 'blue', mark: { dash: null, isThin: true } },
    { label: 'a shape', color: 'black', mark: { shape: symbolCircle } },
    { label: 'a hollow one', color: 'gray', mark: { shape: symbolCircle, isHollow: true } },
  ]);
  expect(text).toMatch(/<rect [^>]*fill="red" fill-opacity="0.5"/);
  expect(text).toMatch(/<path [^>]*stroke="green"[^>]* stroke-width="2" stroke-dasharray="6 4"\/>/);
  expect(text).toMatch(/<path [^>]*stroke="blue"[^>]* stroke-width="1"\/>/);
  expect(text).toMatch(/<path d="M[^"]+" transform="translate\([^"]+\)" fill="black"/);
  expect(text).toMatch(/<path d="M[^"]+" transform="[^"]+" fill="none" stroke="gray"/);
});

test('the legends of charts over time name each system, line and wait class', () => {
  const trials = ['unsharded', 'sharded'].map((system, trial) => ({
    trial,
    system,
    params: {},
    fromMs: trial,
    toMs: trial + 1,
    samples: [],
  }));
  expect(labelsOf(rateLegend(trials))).toEqual(['sharded', 'unsharded', 'dequeue', 'enqueue']);
  const latency = labelsOf(latencyLegend(trials));
  expect(latency).toContain('sharded median');
  expect(new Set(latency).size).toBe(4);
  const emulated = trials.map((trial, index) => ({ ...trial, params: { roundTripMs: 5 * index } }));
  for (const legend of [rateLegend(emulated), latencyLegend(emulated)])
    expect(legend.slice(-2)).toMatchObject([
      { label: 'no round trip', mark: { dash: null } },
      { label: '5 ms round trip, emulated', mark: { dash: roundTripDash(5) } },
    ]);
  expect(cpuLegend(trials)).toHaveLength(2);
  expect(labelsOf(waitLegend(trials))).toEqual(expect.arrayContaining(['on CPU', 'network']));
  expect(labelsOf(waitLegend(emulated))).toContain('network (emulated)');
});

test('the legend of a herd has the colour of everything that is drawn', () => {
  const kinds = ['posted', 'woken', 'mutex', 'latch', 'dequeued', 'found nothing'];
  const spans = kinds.map((kind) => ({ kind, calledUs: 0, gotUs: 1, endedUs: 2 }));
  const tones = herdLanes([{ session: 1, outcome: 'posted', spans }]).flatMap((lane) =>
    [...lane.spans, ...lane.moments].map(({ tone }) => toneColor[tone]),
  );
  expect(new Set(herdLegend.map(({ color }) => color))).toEqual(new Set(tones));
});

test('the legend of a scaling chart has only what occurs: lines, numbers of instances, round trips, the document', () => {
  const series = [1, 4].map((instances) => ({
    id: `sharded/${instances}`,
    system: 'sharded',
    instances,
    roundTripMs: instances === 4 ? 1 : 0,
    otherParams: [],
    points: [],
  }));
  const styled = { styles: lineStyles(series), hasReferences: false, hasTripPanels: false };
  expect(labelsOf(scalingLegend(series, { ...styled, hasReferences: true }))).toEqual([
    'sharded',
    '1 instance',
    '4 instances',
    'no round trip',
    '1 ms round trip, emulated',
    'value in the document, on its hardware',
  ]);
  expect(labelsOf(scalingLegend(series, { ...styled, hasTripPanels: true }))).not.toContain('no round trip');
  expect(scalingLegend([], styled)).toEqual([]);
});

test('rows and steps that the drawing names have a legend in saved pictures', () => {
  const row = {
    key: 'r',
    name: 'r',
    system: 'sharded',
    value: 2,
    range: [1, 3] as [number, number],
    text: '2',
  };
  const references = [{ label: 'the document: 4', value: 4, system: 'sharded' }];
  expect(labelsOf(combinationLegend({ rows: [row], references }, () => 'red'))).toEqual([
    'sharded',
    'sharded: value in the document, on its hardware',
    'what the repeats leave open',
  ]);
  const steps = [{ name: 'write lock', from: 1, to: 2 }];
  const colors = new Map([['write lock', { fill: 'red', opacity: 0.5 }]]);
  expect(waterfallLegend({ steps, colors })[1]).toEqual({ label: 'write lock', color: 'red', opacity: 0.5 });
});

test('the legends of sessions, topologies and the model say what their colours are', () => {
  expect(labelsOf(dotLegend(1))[0]).toBe('one dot is a session');
  expect(labelsOf(dotLegend(4))[0]).toBe('one dot is 4 sessions');
  expect(labelsOf(topologyLegend('sharded'))).toContain('waiting messages');
  expect(labelsOf(topologyLegend('unsharded'))).toEqual(['backlog relative to the limit of the workload']);
  const model = whatIfLegend({ hasMeasured: true, hasGhost: false, instances: 4 });
  expect(labelsOf(model)).toEqual(['sharded', 'unsharded', 'simulated', 'measured']);
});

test('pictures of a live queue, the model and a plan have a provenance too', () => {
  const atMs = Date.UTC(2026, 1, 3, 4, 5);
  expect(liveProvenance('queue orders', { host: 'lab:4100', atMs })).toBe(
    'Shardlab, queue orders of the server at lab:4100, as of 2026-02-03 04:05 UTC.',
  );
  const machine = { title: 'Oracle Exadata X4-2' };
  const settings = settingsInWords(whatIfDefault, ['cores']);
  expect(simulatedProvenance(machine, { settings, measured: null, nowMs: atMs })).toMatch(
    /^Shardlab, simulated with the costs of Oracle Exadata X4-2; 2026-02-03 04:05 UTC\. Instances 2, .*Disk sync time of the machine, the cores removed\.$/,
  );
  const here = { title: 'This machine', calibratedAtMs: atMs };
  const measured = runProvenance(recorded.run);
  expect(simulatedProvenance(here, { settings: '', measured, nowMs: atMs })).toMatch(
    /calibrated 2026-02-03 04:05 UTC.* Measured values: Shardlab, first-look/,
  );
  expect(plannedProvenance('first-look')).toContain('nothing is measured');
});

test('a report is self-contained, without scripts or resources to load, and its texts are escaped', () => {
  const html = htmlReport({
    title: 'A <b>',
    lead: 'what & why',
    provenance: runProvenance(recorded.run),
    address: 'http://127.0.0.1/compare',
    texts: [
      {
        title: 'Words <b>',
        facts: [{ name: 'Rate <i>', value: '1 & 2' }],
        paragraphs: ['It <b>holds</b>'],
        items: ['first <i>'],
      },
    ],
    sections: [
      {
        title: 'Rate',
        text: '"fast"',
        svg: '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        table: { columns: ['x'], rows: [[1], [null], ['<i>']] },
      },
    ],
  });
  expect(html).not.toMatch(/<script|<link|<img|<b>|<i>|url\(/);
  expect(html).toContain('A &lt;b&gt;');
  expect(html).toContain('<td class="number">1</td>');
  expect(html).toContain(recorded.run.scenario.id);
  expect(html).toContain('<dt>Rate &lt;i&gt;</dt><dd>1 &amp; 2</dd>');
  expect(html).toContain('<li>first &lt;i&gt;</li>');
  expect(html.indexOf('Words')).toBeLessThan(html.indexOf('<h2>Rate'));
});

const clause = {
  condition: null,
  provisional: true,
  value: 2,
  unit: '×',
  interval: null,
  repeats: 1,
  reason: '',
};
const claim: ClaimResult = {
  ...recorded.run.claims[0]!,
  id: 'A1',
  title: 'Dequeues scale',
  document: 'The rate rises with every instance.',
  grade: 'prose',
  verdict: 'mixed',
  provisional: true,
  reason: 'One clause of two holds.',
  weak: 'One instance was measured.',
  value: 0.89,
  unit: '× the best',
  interval: [0.81, 0.97],
  clauses: [
    { ...clause, statement: 'it rises to 4', verdict: 'holds', provenance: 'measured' },
    {
      ...clause,
      condition: 'with a 1 ms round trip, emulated',
      statement: 'it rises to 16',
      verdict: 'does-not-hold',
      provenance: 'emulated',
    },
  ],
};
const judged: Run = { ...recorded.run, claims: [claim] };

test('the report of a run has its verdicts, its results, its claims by clause, and the provenance of its figures', () => {
  const texts = runReport(judged, program);
  expect(texts.map(({ title }) => title)).toEqual([
    'Result',
    'A1: Dequeues scale',
    'Where the figures come from',
  ]);
  const [result, ofClaim, origin] = texts;
  expect(result!.facts.map(({ name }) => name)).toContain('Integrity faults');
  expect(result!.facts.map(({ name }) => name)).toContain('Sharded vs. unsharded');
  expect(result!.paragraphs[0]).toMatch(/^1 claim, judged on all points: 1 mixed/);
  expect(ofClaim!.paragraphs).toEqual([
    'Mixed, provisional: 0.89 × the best (0.81 to 0.97). One clause of two holds.',
    'The document (from the text): The rate rises with every instance.',
    'Weak: One instance was measured.',
  ]);
  expect(ofClaim!.items).toEqual([
    'Holds here, provisional: it rises to 4: 2 ×',
    'Does not hold here, provisional: with a 1 ms round trip, emulated: it rises to 16: 2 ×, emulated',
  ]);
  expect(origin!.facts.map(({ name }) => name)).toContain('SQLite');
});

test('the report of a run without points or claims says so', () => {
  const texts = runReport({ ...recorded.run, points: [], claims: [], environment: null }, program);
  expect(texts.map(({ facts }) => facts)).toEqual([[], []]);
  expect(texts[0]!.paragraphs).toEqual(['This run judged no claims.']);
});
