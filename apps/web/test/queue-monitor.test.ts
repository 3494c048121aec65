import { describe, expect, it } from 'vitest';
import { sparklinePath } from '../src/charts/sparkline.ts';
import { jsonFault } from '../src/model/json-fault.ts';
import {
  depthMarks,
  lagMarks,
  placeSamples,
  queueRange,
  queueTable,
  rateMarks,
} from '../src/model/queue-history.ts';
import { formatDrain, formatHitRatio, formatPartitions } from '../src/model/queue-metrics-text.ts';

const sample = (atMs: number, depth: number, lagMs: number | null = 0) => ({
  atMs,
  depth,
  enqueuePerSec: 50,
  dequeuePerSec: 20,
  lagMs,
});

describe('the history of a queue', () => {
  const samples = placeSamples([sample(1_000_000, 3), sample(1_002_000, 5, 250), sample(1_004_000, 0, null)]);

  it('begins at the first sample, and shows half a minute at least', () => {
    expect(samples.map(({ atMs }) => atMs)).toEqual([0, 2_000, 4_000]);
    expect(queueRange(samples)).toEqual({ fromMs: 0, toMs: 30_000 });
    expect(queueRange(placeSamples([sample(0, 0), sample(600_000, 0)])).toMs).toBe(600_000);
  });

  it('has lines for rates and depth, and for the lag where it is known', () => {
    expect(rateMarks(samples, 'sharded').lines.map(({ id, points }) => [id, points.length])).toEqual([
      ['enqueued', 3],
      ['dequeued', 3],
    ]);
    expect(depthMarks(samples, 'sharded').max).toBe(5);
    expect(lagMarks(samples, 'sharded').lines[0]!.points).toEqual([
      { atMs: 0, value: 0 },
      { atMs: 2_000, value: 0.25 },
    ]);
    expect(queueTable(samples).rows[1]).toEqual(['1970-01-01T00:16:42.000Z', 50, 20, 5, 250]);
  });
});

describe('a sparkline', () => {
  it('goes from left to right, its maximum at the top', () => {
    expect(sparklinePath([0, 10, 5], { width: 96, height: 22 })).toBe('M1.5,20.5L48,1.5L94.5,11');
    expect(sparklinePath([0, 0], { width: 96, height: 22 })).toBe('M1.5,20.5L94.5,20.5');
    expect(sparklinePath([1], { width: 96, height: 22 })).toBe('');
  });
});

describe('a payload that is typed', () => {
  it.each(['{"a":1}', '[1, 2]', '"text"', '12', 'hello {world}', ''])(
    'is sent without a question: %s',
    (text) => {
      expect(jsonFault(text)).toBeNull();
    },
  );

  it.each(['{"a":1', '[1, 2', ' {a: 1}', '"text'])('is asked about: %s', (text) => {
    expect(jsonFault(text)).toMatch(/JSON|string/);
  });
});

describe('the text for metrics', () => {
  it.each([
    ['40 s', { drainState: 'draining', drainMs: 40_000 }],
    ['growing', { drainState: 'growing', drainMs: null }],
    ['empty', { drainState: 'empty', drainMs: null }],
    ['not draining', { drainState: 'steady', drainMs: null }],
  ] as const)('%s', (words, drain) => {
    expect(formatDrain(drain).replaceAll('\u202f', ' ')).toBe(words);
  });

  it('names the states of partitions that occur', () => {
    expect(formatPartitions({ filling: 1, full: 3, drained: 0, damaged: 0 })).toBe('1 filling, 3 full');
    expect(formatPartitions({ filling: 0, full: 0, drained: 0, damaged: 0 })).toBe('none');
  });

  it('gives the hit ratio after the first delivery', () => {
    expect(formatHitRatio({ hits: 0, misses: 0 })).toBe('–');
    expect(formatHitRatio({ hits: 3, misses: 1 })).toBe('75 %');
  });
});
