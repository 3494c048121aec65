import { expect, test } from 'vitest';
import { compareCells } from '../src/model/compare-cells.ts';
import {
  clockPrecision,
  formatAgo,
  formatAxisCount,
  formatClock,
  formatCores,
  formatDuration,
  formatEstimate,
  formatMicros,
  formatMs,
  formatNanos,
  formatRate,
  formatTenths,
  plural,
} from '../src/model/format.ts';

const plain = (text: string) => text.replaceAll(/[\u202f\u00a0]/g, ' ');

test('rates have grouped thousands, and three digits below 100', () => {
  expect(formatRate(156_517.4)).toBe('156,517/s');
  expect(formatRate(12.345)).toBe('12.3/s');
  expect(formatRate(0)).toBe('0/s');
});

test('durations use µs, ms or s, and a dash if nothing was recorded', () => {
  expect([formatMicros(999), formatMicros(260_000)].map(plain)).toEqual(['999 µs', '260 ms']);
  expect([formatNanos(42), formatNanos(9_687_400)].map(plain)).toEqual(['42 ns', '9.69 ms']);
  expect(plain(formatMs(0.332))).toBe('332 µs');
  expect(plain(formatMs(4.131))).toBe('4.13 ms');
  expect(plain(formatMs(1_230))).toBe('1.23 s');
  expect(formatMs(0)).toBe('–');
  expect(formatMs(Number.NaN)).toBe('–');
});

test.each([
  [400, '1 s'],
  [9_280, '9 s'],
  [59_600, '1 min'],
  [101_000, '1 min 41 s'],
  [3_600_000, '1 h'],
  [3_899_000, '1 h 4 min'],
])('%i ms is formatted as %s', (ms, text) => {
  expect(plain(formatDuration(ms))).toBe(text);
});

test.each([
  [400, '1 s'],
  [9_280, '9 s'],
  [43_000, '45 s'],
  [119_000, '2 min'],
  [153_300, '2 min 30 s'],
  [571_000, '9 min 30 s'],
  [1_614_000, '27 min'],
])('an estimate of %i ms is formatted as %s', (ms, text) => {
  expect(plain(formatEstimate(ms))).toBe(text);
});

test('a duration has no line break', () => {
  expect(formatDuration(88_000)).not.toContain(' ');
  expect(formatDuration(3_899_000)).not.toContain(' ');
});

test('numbers in a column have one decimal each, and zero has no sign', () => {
  expect([2, 1.54, 15, -0.04, -0.2].map(formatTenths)).toEqual(['2.0', '1.5', '15.0', '0.0', '-0.2']);
});

test('past times are rounded, and future ones are "just now"', () => {
  const now = 1_000_000_000;
  expect(formatAgo(now + 5_000, now)).toBe('just now');
  expect(plain(formatAgo(now - 240_000, now))).toBe('4 min ago');
  expect(plain(formatAgo(now - 5 * 3_600_000, now))).toBe('5 h ago');
  expect(formatAgo(now - 3 * 86_400_000, now)).toBe('3 days ago');
});

test('axis labels are short', () => {
  expect([0.1, 50, 1_000, 200_000, 1_000_000].map(formatAxisCount)).toEqual([
    '0.1',
    '50',
    '1k',
    '200k',
    '1M',
  ]);
});

test('a clock shows hours only from one hour on', () => {
  const clocks = [0, 67_400, 3_723_000].map((ms) => formatClock(ms));
  expect(clocks).toEqual(['0:00', '1:07', '1:02:03']);
});

test('a clock rounds down, so that it is never ahead of its axis', () => {
  expect(formatClock(1_500)).toBe('0:01');
  expect([1_200, 1_599, 59_999].map((ms) => formatClock(ms, 'tenth'))).toEqual([
    '0:01.2',
    '0:01.5',
    '0:59.9',
  ]);
  expect([1_500, 9_999, 10_000].map(clockPrecision)).toEqual(['tenth', 'tenth', 'second']);
});

test('nouns and units agree with their number', () => {
  expect(plural(1, 'instance')).toBe('1 instance');
  expect(plural(1_200, 'trial')).toBe('1,200 trials');
  expect(plain(formatCores(0.654))).toBe('0.65 cores');
});

test('cells are ordered by size, and texts by the numbers in them', () => {
  expect([10, 9, 100].sort(compareCells)).toEqual([9, 10, 100]);
  expect(['16 threads', '2 threads', 'b'].sort(compareCells)).toEqual(['2 threads', '16 threads', 'b']);
});
