/** Draws the charts of the explain page from fixed data and compares them with SVG files, as `chart-files.test.ts` does. */
import type { Swimlane } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { createHistogramChart } from '../src/charts/histogram-chart.ts';
import { createSequenceChart } from '../src/charts/sequence-chart.ts';
import { createSwimlaneChart } from '../src/charts/swimlane-chart.ts';
import { createWaitsChart } from '../src/charts/waits-chart.ts';
import { eventColors } from '../src/charts/waits-color.ts';
import { createWaterfall } from '../src/charts/waits-waterfall.ts';
import { activityGroups, activityOrder } from '../src/model/active-sessions.ts';
import { activityChange } from '../src/model/activity-change.ts';
import { holderLanes } from '../src/model/event-holders.ts';
import { formatAxisCount, formatMs } from '../src/model/format.ts';
import { formatUsShort } from '../src/model/format-change.ts';
import { formatPowerNs, sharesOf } from '../src/model/power-buckets.ts';
import type { SequenceDiagram } from '../src/model/sequence.ts';
import { herdLanes, ownershipLanes } from '../src/model/swimlanes.ts';
import { contended } from './fixtures/activity.ts';
import { crowd } from './fixtures/holders.ts';
import { overThreads } from './fixtures/points.ts';
import { program } from './fixtures/program.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

const noEvents = { onCursor: () => {}, onSelect: () => {} };
const groups = activityGroups(contended, { sweep: overThreads, program });
const order = activityOrder(groups);
const colors = eventColors(order);
const us = (value: number) => (value === 0 ? '0' : formatMs(value / 1_000));

const waits = (width: number) => ({
  width,
  panels: groups.map(({ title, points }) => ({
    title,
    bars: points.map(({ key, label, activities }) => ({
      key,
      label,
      segments: order.flatMap(({ name }) => {
        const found = activities.find((each) => each.name === name);
        return found === undefined ? [] : [{ name, value: found.sessions }];
      }),
    })),
  })),
  axisTitle: groups[0]!.axisTitle,
  colors,
  reference: 2,
  format: formatAxisCount,
  cursor: null,
  selected: groups[1]!.points[2]!.key,
  against: groups[0]!.points[2]!.key,
});

test('active sessions by wait event, two points selected', async () => {
  const element = svgElement();
  createWaitsChart(element, noEvents).update(waits(720));
  await expect(savedFile(element, 'Active sessions')).toMatchFileSnapshot('__svg__/waits.svg');
});

test('active sessions on a phone, in the dark theme', async () => {
  const element = svgElement();
  createWaitsChart(element, noEvents).update(waits(300));
  await expect(savedFile(element, 'Active sessions', 'dark')).toMatchFileSnapshot(
    '__svg__/waits-narrow-dark.svg',
  );
});

test('an updated chart of active sessions equals a new one, and a destroyed one leaves nothing', () => {
  const [once, twice] = [svgElement(), svgElement()];
  createWaitsChart(once, noEvents).update(waits(720));
  const chart = createWaitsChart(twice, noEvents);
  chart.update({
    ...waits(300),
    panels: waits(300).panels.slice(1),
    axisTitle: '',
    reference: null,
    selected: null,
  });
  chart.update(waits(720));
  expect(savedFile(twice, 'x').split('\n').sort()).toEqual(savedFile(once, 'x').split('\n').sort());
  chart.destroy();
  expect(twice.childNodes.length).toBe(0);
});

test('the waterfall from one point to another', async () => {
  const change = activityChange(groups[0]!.points[2]!, groups[1]!.points[2]!)!;
  const element = svgElement();
  createWaterfall(element).update({
    width: 560,
    from: { label: 'sharded, 32 threads', value: change.fromUs },
    to: { label: 'unsharded, 32 threads', value: change.toUs },
    steps: change.steps.map(({ name, fromUs, toUs }) => ({ name, from: fromUs, to: toUs })),
    colors,
    format: us,
    formatChange: formatUsShort,
  });
  await expect(savedFile(element, 'Time of a message')).toMatchFileSnapshot('__svg__/waterfall.svg');
});

test('a measured histogram beside one of a document', async () => {
  const { first, count, shares } = sharesOf([
    [0, 0, 0, 0, 0, 0, 0, 0, 40, 220, 300, 180, 60, 12, 3],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 941, 422, 173, 11, 2],
  ]);
  const element = svgElement();
  createHistogramChart(element, noEvents).update({
    width: 520,
    height: 220,
    axisTitle: 'time of a get',
    edges: Array.from({ length: count }, (_, index) => formatPowerNs(first + index)),
    series: [
      { label: 'here', shares: shares[0]!, color: 'var(--wait-concurrency)', drawnAs: 'bars' },
      { label: 'the document', shares: shares[1]!, color: 'var(--ink)', drawnAs: 'outline' },
    ],
    cursor: 3,
  });
  await expect(savedFile(element, 'Nanoseconds of a get')).toMatchFileSnapshot('__svg__/histogram.svg');
});

/** One post, one session that gets the message, and five that wake for nothing; they get the mutex one after the other. */
const herd: Swimlane[] = [
  {
    session: 7,
    outcome: 'posted',
    spans: [
      { kind: 'posted', calledUs: 0, gotUs: 0, endedUs: 0 },
      { kind: 'latch', calledUs: 0, gotUs: 2, endedUs: 45 },
    ],
  },
  ...[1, 2, 3, 4, 5, 6].map((session): Swimlane => {
    const [woken, got] = [40 + session * 8, 80 + session * 90];
    const last = session === 1 ? 'dequeued' : 'found nothing';
    return {
      session,
      outcome: session === 1 ? 'got the message' : 'woke for nothing',
      spans: [
        { kind: 'woken', calledUs: woken, gotUs: woken, endedUs: woken },
        { kind: 'mutex', calledUs: woken + 10, gotUs: got, endedUs: got + 85 },
        { kind: last, calledUs: got + 95, gotUs: got + 95, endedUs: got + 95 },
      ],
    };
  }),
];

test.each([
  { name: 'swimlanes', width: 720, theme: 'light' as const },
  { name: 'swimlanes-narrow-dark', width: 320, theme: 'dark' as const },
])('who wakes for one message: $name', async ({ name, width, theme }) => {
  const element = svgElement();
  createSwimlaneChart(element, noEvents).update({ width, lanes: herdLanes(herd), format: us, cursor: 300 });
  await expect(savedFile(element, 'One message, and all who woke', theme)).toMatchFileSnapshot(
    `__svg__/${name}.svg`,
  );
});

test('who has the write lock, and who waits', async () => {
  const element = svgElement();
  const format = (ms: number) => (ms === 0 ? '0' : formatMs(ms));
  createSwimlaneChart(element, noEvents).update({
    width: 640,
    lanes: holderLanes(crowd(9)),
    format,
    cursor: 50,
  });
  await expect(savedFile(element, 'Holder and waiters')).toMatchFileSnapshot('__svg__/holders.svg');
});

test('who owns a service, with a gap after each kill', async () => {
  const lanes = ownershipLanes(
    [
      { instance: 1, epoch: 1, fromMs: 0, toMs: 2_000, ended: 'killed' },
      { instance: 2, epoch: 2, fromMs: 2_600, toMs: 5_000, ended: 'hung' },
      { instance: 1, epoch: 3, fromMs: 6_400, toMs: 9_000, ended: '' },
    ],
    [1, 2],
  );
  const element = svgElement();
  createSwimlaneChart(element, noEvents).update({
    width: 640,
    lanes,
    format: (ms) => (ms === 0 ? '0' : formatMs(ms)),
    cursor: null,
  });
  await expect(savedFile(element, 'Owner of the service')).toMatchFileSnapshot('__svg__/ownership.svg');
});

test('a distributed transaction, coloured by wait', async () => {
  const call = (to: string, name: string, sentAt: number, answeredAt: number, answer = '') => ({
    from: 'client',
    to,
    name,
    sentAt,
    receivedAt: sentAt + 100,
    answeredAt,
    returnedAt: answeredAt + 100,
    answer,
  });
  const diagram: SequenceDiagram = {
    participants: [
      { id: 'client', label: 'client' },
      { id: 'a', label: 'branch 1' },
      { id: 'b', label: 'branch 2' },
    ],
    calls: [
      call('a', 'start', 0, 400),
      call('b', 'start', 700, 1_100),
      call('b', 'prepare', 1_500, 2_000, 'read-only'),
      call('a', 'prepare', 2_300, 24_000, 'prepared'),
      call('a', 'commit', 24_300, 46_000, 'ok'),
    ],
    intervals: [
      { participant: 'a', from: 150, to: 350, event: 'on CPU', emulated: false },
      { participant: 'a', from: 2_500, to: 23_900, event: 'log file sync', emulated: true },
      { participant: 'a', from: 24_500, to: 45_900, event: 'log file sync', emulated: true },
      { participant: 'b', from: 850, to: 1_050, event: 'write lock', emulated: false },
    ],
    unit: 'us',
  };
  const element = svgElement();
  createSequenceChart(element).update({ width: 620, diagram, colors, format: us, cursor: 3 });
  await expect(savedFile(element, 'One transaction')).toMatchFileSnapshot('__svg__/sequence.svg');
});
