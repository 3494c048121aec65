/** What draws an imported run ends with a bounded number of marks, whatever numbers the run has. */
import { epochMsMax, fileBounds, runMsMax } from '@shardlab/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockTicks, timeOfDayTicks } from '../src/charts/time-chart.ts';
import { utcMinute } from '../src/model/provenance.ts';
import {
  decadeDomain,
  decadeTicks,
  scalingGeometry,
  stepDown,
  stepUp,
} from '../src/model/scaling-geometry.ts';
import { binTicks } from '../src/model/tick-bins.ts';
import { cpuMarks } from '../src/model/time-chart-data.ts';

/** Positive numbers of all magnitudes, the largest and smallest that there are, and what a file may have. */
const positive = fc.oneof(
  fc.double({ min: Number.MIN_VALUE, max: fileBounds.numberMax, noNaN: true }),
  fc.integer({ min: -323, max: 308 }).map((power) => Number(`1e${power}`)),
  fc.constantFrom(
    Number.MIN_VALUE,
    1e-300,
    1,
    fileBounds.numberMax,
    fileBounds.integerMax,
    1.7e308,
    Number.MAX_VALUE,
  ),
);
/** Any number, and what arithmetic makes of two of them. */
const any = fc.oneof(
  positive,
  fc.double(),
  fc.constantFrom(0, -0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);
const time = fc.oneof(
  fc.integer({ min: 0, max: runMsMax }),
  fc.constantFrom(0, runMsMax, 2 ** 53, -(2 ** 53), epochMsMax),
);
const frame = { width: 400, height: 300, margin: { top: 10, right: 10, bottom: 20, left: 30 } };

describe('whatever the numbers of a run,', () => {
  it('a logarithmic axis has at most a tick for each power of ten, or three for each of three decades', () => {
    fc.assert(
      fc.property(any, any, (low, high) => {
        expect(decadeTicks([low, high]).length).toBeLessThanOrEqual(632);
        expect(decadeTicks([stepDown(low), stepUp(high)]).length).toBeLessThanOrEqual(632);
        expect(decadeTicks(decadeDomain([low, high])).length).toBeLessThanOrEqual(632);
      }),
    );
    expect(decadeTicks([1, Number.POSITIVE_INFINITY])).toHaveLength(309);
  });

  it('a chart of them has as many ticks as points at most, and bounded ones upwards', () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1, maxLength: 20 }), (values) => {
        const points = values.map((value, index) => ({ x: index + 1, value }));
        const series = [{ points }] as unknown as Parameters<typeof scalingGeometry>[0];
        const { xTicks, yTicks } = scalingGeometry(series, { frame, xs: values, references: values });
        expect(xTicks.length).toBeLessThanOrEqual(2 * values.length);
        expect(yTicks.length).toBeLessThanOrEqual(632);
      }),
    );
  });

  it('an axis of times has as many ticks as asked for, or few more', () => {
    fc.assert(
      fc.property(
        time,
        time,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: epochMsMax }),
        (a, b, count, startMs) => {
          const range = { fromMs: Math.min(a, b), toMs: Math.max(a, b) };
          expect(clockTicks(range, count).length).toBeLessThanOrEqual(count + 1);
          expect(timeOfDayTicks(range, count, startMs).values.length).toBeLessThanOrEqual(count + 2);
        },
      ),
    );
  });

  it('a time series has at most its bins, and a layer for each instance that a run can have', () => {
    const tick = (atMs: number, spanMs: number, instances: number) =>
      ({
        atMs,
        trial: 0,
        program: 'p',
        system: 'sharded',
        params: { instances },
        phase: 'measure',
        instances: [{ spanMs }],
      }) as never;
    fc.assert(
      fc.property(fc.array(time, { maxLength: 50 }), any, any, (times, spanMs, instances) => {
        const sorted = times.toSorted((a, b) => a - b);
        const ticks = sorted.map((atMs) => tick(atMs, spanMs, instances));
        const [fromMs = 0, toMs = 0] = [sorted[0], sorted.at(-1)];
        const trials = binTicks(ticks, { fromMs, toMs, binsMax: 10 });
        for (const { bins } of trials) expect(bins.length).toBeLessThanOrEqual(50);
        const samples = trials.map(({ first, bins: _, ...trial }) => ({
          ...trial,
          params: first.params,
          system: 'sharded',
          samples: [],
        }));
        expect(cpuMarks(samples).layers.length).toBeLessThanOrEqual(16 * trials.length);
      }),
    );
  });

  it('a time is written, or said to be unknown', () => {
    fc.assert(
      fc.property(fc.oneof(any, time), (atMs) => void expect(utcMinute(atMs)).toMatch(/UTC$|unknown/)),
    );
    expect(utcMinute(1_795_792_502_560_000_000)).toBe('at an unknown time');
  });
});
