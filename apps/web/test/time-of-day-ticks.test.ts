/** The time axis of a queue's history has ticks at round times of the day, as many as fit. */
import { expect, test } from 'vitest';
import { timeOfDayTicks } from '../src/charts/time-chart.ts';

const hourMs = 3_600_000;
/** 14:20:30 in the machine's time zone. */
const startMs = new Date(2026, 2, 10, 14, 20, 30).getTime();
const labels = (toMs: number, count: number) => {
  const { values, format } = timeOfDayTicks({ fromMs: 0, toMs }, count, startMs);
  return values.map(format);
};

test('ticks over a day are at whole hours, also past midnight', () => {
  expect(labels(24 * hourMs, 10)).toEqual([
    '15:00',
    '18:00',
    '21:00',
    '00:00',
    '03:00',
    '06:00',
    '09:00',
    '12:00',
  ]);
  expect(labels(24 * hourMs, 4)).toEqual(['18:00', '00:00', '06:00', '12:00']);
});

test('ticks over an hour are at whole minutes, over less at whole seconds', () => {
  expect(labels(hourMs, 8)).toEqual(['14:30', '14:40', '14:50', '15:00', '15:10', '15:20']);
  expect(labels(60_000, 4)).toEqual(['14:20:30', '14:20:45', '14:21:00', '14:21:15', '14:21:30']);
});
