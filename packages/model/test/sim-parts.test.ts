import { Random } from '@shardlab/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Backlog } from '../src/sim/backlog.ts';
import { EventHeap } from '../src/sim/event-heap.ts';
import { JobLists } from '../src/sim/job-lists.ts';
import { createLayout } from '../src/sim/layout.ts';
import { LogHistogram } from '../src/sim/log-histogram.ts';
import { costsWith, workloadWith } from './model-costs.ts';

describe('the calendar', () => {
  test('returns events in the order of their times, also if some are added in between', () => {
    const step = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: null });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const heap = new EventHeap(1);
        const expected: number[] = [];
        for (const [code, at] of steps.entries()) {
          if (at !== null) {
            heap.push(at, code);
            expected.push(at);
          } else {
            expected.sort((a, b) => a - b);
            const first = expected.shift();
            if (first === undefined) expect(heap.pop()).toBe(-1);
            else {
              const popped = heap.pop();
              expect(steps[popped]).toBe(first);
              expect(heap.poppedAt).toBe(first);
            }
          }
          expect(heap.size).toBe(expected.length);
        }
      }),
    );
  });
});

describe('lists of jobs', () => {
  test('are each first in, first out, and a job can be removed from the middle', () => {
    const jobs = 12;
    const step = fc.record({
      list: fc.integer({ min: 0, max: 2 }),
      job: fc.integer({ min: 0, max: jobs - 1 }),
      what: fc.constantFrom('push', 'shift', 'remove'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const lists = new JobLists(3, jobs);
        const model: number[][] = [[], [], []];
        for (const { list, job, what } of steps) {
          const at = model.findIndex((each) => each.includes(job));
          if (what === 'push' && at < 0) {
            lists.push(list, job);
            model[list]!.push(job);
          } else if (what === 'shift') expect(lists.shift(list)).toBe(model[list]!.shift() ?? -1);
          else if (what === 'remove' && at >= 0) {
            lists.remove(at, job);
            model[at] = model[at]!.filter((each) => each !== job);
          }
          for (const [index, each] of model.entries()) {
            expect(lists.length(index)).toBe(each.length);
            expect(lists.first(index)).toBe(each[0] ?? -1);
          }
        }
      }),
    );
  });
});

describe('the histogram', () => {
  test('has every quantile within 1.6 %', () => {
    const durations = fc.array(fc.double({ min: 0.001, max: 1e9, noNaN: true }), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(durations, fc.double({ min: 0.01, max: 1, noNaN: true }), (values, quantile) => {
        const histogram = new LogHistogram();
        for (const value of values) histogram.record(value);
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.ceil(quantile * values.length - 1e-9) - 1]!;
        expect(Math.abs(histogram.quantile(quantile) / exact - 1)).toBeLessThan(0.0161);
        expect(histogram.max).toBe(sorted.at(-1));
      }),
    );
  });

  test('without durations has quantiles of zero, and counts durations of zero', () => {
    const histogram = new LogHistogram();
    expect([histogram.quantile(0.5), histogram.mean, histogram.count]).toEqual([0, 0, 0]);
    histogram.record(0, 3);
    expect([histogram.quantile(0.99), histogram.mean, histogram.count]).toEqual([0, 0, 3]);
  });
});

describe('random numbers', () => {
  test('are the same for the same seed, evenly spread, and different for adjacent seeds', () => {
    const draw = (seed: number) => {
      const random = new Random(seed);
      return Array.from({ length: 20_000 }, () => random.next());
    };
    expect(draw(5)).toEqual(draw(5));
    const [a, b] = [draw(1), draw(2)];
    expect(a.filter((value, index) => value === b[index]).length).toBe(0);
    for (const values of [a, b]) {
      const tenths = new Array<number>(10).fill(0);
      for (const value of values) tenths[Math.floor(value * 10)]! += 1;
      for (const count of tenths) expect(Math.abs(count - 2000)).toBeLessThan(200);
    }
  });

  test.each([0, 0.3, 1])('durations with a variation of %d have that mean and deviation', (variation) => {
    const random = new Random(11);
    const values = Array.from({ length: 100_000 }, () => random.sampleAround(50, variation));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
    expect(mean / 50).toBeCloseTo(1, 1);
    expect(deviation / 50).toBeCloseTo(variation, 1);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(50 * (1 - variation) - 1e-9);
  });
});

describe('the backlog', () => {
  test('hands each subscriber every message once, in order, with its sending time', () => {
    const layout = createLayout(costsWith({}), workloadWith({ dequeuers: 2, subscribers: 2 }));
    const step = fc.oneof(
      fc.record({ append: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ subscriber: fc.constantFrom(0, 1), max: fc.integer({ min: 1, max: 20 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const backlog = new Backlog(1, layout);
        const sent: number[] = [];
        const taken = [0, 0];
        for (const [at, each] of steps.entries()) {
          if ('append' in each) {
            backlog.append(0, each.append, at);
            sent.push(...new Array<number>(each.append).fill(at));
            continue;
          }
          const { subscriber, max } = each;
          const expected = sent.slice(taken[subscriber]!, taken[subscriber]! + max);
          expect(backlog.take(0, subscriber, max)).toBe(expected.length);
          taken[subscriber]! += expected.length;
          if (expected.length > 0) {
            const mean = expected.reduce((sum, value) => sum + value, 0) / expected.length;
            expect(backlog.lastTakenSentAt).toBeCloseTo(mean, 6);
          }
          expect(backlog.ready(0, subscriber)).toBe(sent.length - taken[subscriber]!);
          expect(backlog.held(0, subscriber)).toBe(taken[subscriber]);
        }
      }),
    );
  });
});
