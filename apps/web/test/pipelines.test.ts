/** Rates over time and round trips: how they are computed from points, and how the charts draw them. */
import type { Point } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import { createRatesChart } from '../src/charts/rates-chart.ts';
import { createRoundTripChart, tripScale } from '../src/charts/round-trip-chart.ts';
import { formatAxisCount, formatMs } from '../src/model/format.ts';
import { linesInWords, rateLines, ratesAt, ratesTable } from '../src/model/rate-lines.ts';
import { roundTrips, tripInWords, tripTable } from '../src/model/round-trip.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

const figure = (value: number) => ({ value, unit: '', provenance: 'measured' as const, repeats: [value] });

function point(params: Point['params'], figures: Record<string, number>): Point {
  return {
    program: 'pipelining',
    system: 'remote-topic',
    params: { subscribers: 1, payloadBytes: 1_024, sendsPerSec: 0, ...params },
    figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, figure(value)])),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: [],
  };
}

const points = [
  point(
    { configuration: 'base', producers: 4 },
    { sentPerSec: 10_000, messagesPerSec: 10_000, sendWaitShare: 0.75, receiveWaitShare: 0.75 },
  ),
  point(
    { configuration: 'base', producers: 1 },
    { sentPerSec: 8_000, messagesPerSec: 8_000, sendWaitShare: 0.5, receiveWaitShare: 0.8 },
  ),
  point(
    { configuration: 'prefetch', producers: 4 },
    { sentPerSec: 50_000, messagesPerSec: 50_000, sendWaitShare: 0.25, receiveWaitShare: 0.1 },
  ),
];
const groups = roundTrips(points);

describe('round trips', () => {
  test('are the time of one message at each end, split by the share that it waits', () => {
    expect(groups.map(({ title, rows }) => [title, rows.map(({ label }) => label)])).toEqual([
      ['Base', ['1 producer', '4 producers']],
      ['Quotas, one-way sends, prefetch', ['4 producers']],
    ]);
    // Four producers together send 10,000 messages a second, so each takes 400 µs for a message.
    expect(groups[0]!.rows[1]).toMatchObject({
      producer: { waitUs: 300, workUs: 100 },
      consumer: { waitUs: 75, workUs: 25 },
    });
    expect(tripInWords(groups[0]!.title, groups[0]!.rows[1]!)).toBe(
      'Base, 4 producers: for each message a producer spends 400\u202fµs, of which it waits 300\u202fµs; a consumer spends 100\u202fµs, of which it waits 75\u202fµs.',
    );
    expect(tripTable(groups).rows).toHaveLength(6);
  });

  test('leave out an end that had no messages, and points at a given load', () => {
    const nothing = point({ configuration: 'base', producers: 1 }, { sentPerSec: 0, messagesPerSec: 0 });
    expect(roundTrips([nothing])[0]!.rows[0]).toMatchObject({ producer: null, consumer: null });
    expect(roundTrips([point({ configuration: 'prefetch', producers: 1, sendsPerSec: 5 }, {})])).toEqual([]);
  });

  test('are drawn as two bars for each point, as long as the time of a message', async () => {
    const element = svgElement();
    const chart = createRoundTripChart(element, { onCursor: () => {} });
    const data = {
      width: 640,
      groups,
      format: (us: number) => (us === 0 ? '0' : formatMs(us / 1_000)),
      cursor: groups[0]!.rows[0]!.key,
    };
    chart.update(data);
    const bars = [...element.querySelectorAll('[data-part=bars] rect')];
    expect(bars).toHaveLength(12);
    const x = tripScale(data);
    const ends = bars.map((bar) => Number(bar.getAttribute('x')) + Number(bar.getAttribute('width')));
    expect(Math.max(...ends)).toBeCloseTo(x(400), 0);
    await expect(savedFile(element, 'A round trip')).toMatchFileSnapshot('__svg__/round-trips.svg');
    chart.destroy();
    expect(element.childNodes.length).toBe(0);
  });

  test('are drawn on a narrow page in the dark theme', async () => {
    const element = svgElement();
    createRoundTripChart(element, { onCursor: () => {} }).update({
      width: 300,
      groups,
      format: (us) => (us === 0 ? '0' : formatMs(us / 1_000)),
      cursor: null,
    });
    await expect(savedFile(element, 'A round trip', 'dark')).toMatchFileSnapshot(
      '__svg__/round-trips-narrow-dark.svg',
    );
  });
});

const lines = rateLines([
  { name: 'producers', sliceMs: 200, perSec: [900, 1_100, 1_000, 1_000] },
  { name: 'other consumer', sliceMs: 200, perSec: [0, 600, 0, 600] },
  { name: 'nobody', sliceMs: 200, perSec: [] },
]);

describe('rates over time', () => {
  test('have a mean and a deviation, in words and as a table', () => {
    expect(lines.map(({ name, mean, deviation }) => [name, mean, Math.round(deviation)])).toEqual([
      ['producers', 1_000, 71],
      ['other consumer', 300, 300],
    ]);
    expect(linesInWords(lines)).toBe('producers: 1,000/s ± 7 %; other consumer: 300/s ± 100 %');
    expect(ratesAt(lines, 310)).toBe('0.3 s: producers 1,100/s, other consumer 600/s');
    expect(ratesTable(lines).rows[1]).toEqual([0.3, 1_100, 600]);
    expect(linesInWords(rateLines([{ name: 'idle', sliceMs: 200, perSec: [0, 0] }]))).toBe('idle: nothing');
  });

  test('are drawn as lines with a band of one deviation around each mean', async () => {
    const element = svgElement();
    const chart = createRatesChart(element, { onCursor: () => {} });
    chart.update({ width: 560, height: 220, lines, format: formatAxisCount, cursor: 300 });
    expect(element.querySelectorAll('[data-part=lines] path')).toHaveLength(2);
    const [, band] = element.querySelectorAll('[data-part=bands] rect');
    // Mean and deviation are both 300, so the band reaches from 0 to 600 of the axis.
    const top = Number(band!.getAttribute('y'));
    expect(top + Number(band!.getAttribute('height'))).toBeCloseTo(220 - 24, 0);
    await expect(savedFile(element, 'Rates over time')).toMatchFileSnapshot('__svg__/rates.svg');
    chart.destroy();
    expect(element.childNodes.length).toBe(0);
  });
});
