import { describe, expect, it } from 'vitest';
import { sparklinePath } from '../src/charts/sparkline.ts';
import { jsonFault } from '../src/model/json-fault.ts';
import {
  depthMarks,
  gapCount,
  lagMarks,
  latencyMarks,
  placeSamples,
  queueRange,
  queueTable,
  rateMarks,
  stretchesOf,
} from '../src/model/queue-history.ts';
import { formatDrain, formatHitRatio, formatPartitions } from '../src/model/queue-metrics-text.ts';

interface Fields {
  sinceMs?: number;
  latencyMs?: { p50: number; p99: number } | null;
  lagMs?: number | null;
}

const sample = (
  atMs: number,
  depth: number,
  { sinceMs = atMs - 2_000, latencyMs = null, lagMs = 0 }: Fields = {},
) => ({
  atMs,
  sinceMs,
  depth,
  enqueuePerSec: 50,
  dequeuePerSec: 20,
  latencyMs,
  lagMs,
});

describe('the history of a queue', () => {
  const samples = placeSamples([
    sample(1_000_000, 3, { latencyMs: { p50: 2, p99: 40 } }),
    sample(1_002_000, 5, { lagMs: 250 }),
    sample(1_004_000, 0, { lagMs: null }),
  ]);

  it('begins with the first sample, and shows half a minute at least', () => {
    expect(samples.map(({ atMs }) => atMs)).toEqual([2_000, 4_000, 6_000]);
    expect(queueRange(samples)).toEqual({ fromMs: 0, toMs: 30_000 });
    expect(queueRange(placeSamples([sample(0, 0), sample(600_000, 0)])).toMs).toBe(602_000);
  });

  it('has lines for rates and depth, and for latency and lag where they are known', () => {
    expect(rateMarks(samples, 'sharded').lines.map(({ id, points }) => [id, points.length])).toEqual([
      ['enqueued 0', 3],
      ['dequeued 0', 3],
    ]);
    expect(depthMarks(samples, 'sharded').max).toBe(5);
    expect(lagMarks(samples, 'sharded').lines.map(({ points }) => points)).toEqual([
      [
        { atMs: 2_000, value: 0 },
        { atMs: 4_000, value: 0.25 },
      ],
    ]);
    const latency = latencyMarks(samples, 'sharded');
    expect(latency.lines.map(({ id, role }) => [id, role])).toEqual([
      ['p99 0', 'secondary'],
      ['p50 0', 'primary'],
    ]);
    expect(latency.lines[1]!.points, 'as wide as the time in which it was measured').toEqual([
      { atMs: 0, value: 2 },
      { atMs: 2_000, value: 2 },
    ]);
    expect(queueTable(samples).rows[0]).toEqual(['1970-01-01T00:16:40.000Z', 50, 20, 3, 2, 40, 0]);
    expect(queueTable(samples).rows[1]).toEqual(['1970-01-01T00:16:42.000Z', 50, 20, 5, null, null, 250]);
  });

  it('has gaps in its lines while the server was down', () => {
    const restarted = [
      sample(10_000, 1),
      sample(12_000, 2),
      sample(60_000, 7, { sinceMs: 58_000 }),
      sample(62_000, 8),
    ];
    const depths = stretchesOf(restarted, ({ depth }) => depth);
    expect(depths.map((points) => points.map(({ value }) => value))).toEqual([
      [1, 2],
      [7, 8],
    ]);
    expect(gapCount(restarted)).toBe(1);
    expect(depthMarks(placeSamples(restarted), 'sharded').lines).toHaveLength(2);
    expect(gapCount([])).toBe(0);
  });
});

describe('a sparkline', () => {
  const size = { width: 96, height: 22 };
  const at = (...values: number[]) => values.map((value, index) => ({ atMs: index * 2_000, value }));

  it('runs from left to right, with its maximum at the top', () => {
    expect(sparklinePath([at(0, 10, 5)], size)).toBe('M1.5,20.5L48,1.5L94.5,11');
    expect(sparklinePath([at(0, 0)], size)).toBe('M1.5,20.5L94.5,20.5');
    expect(sparklinePath([at(1)], size)).toBe('');
  });

  it('has a gap as wide as the time without samples', () => {
    const later = at(10, 10).map(({ atMs, value }) => ({ atMs: atMs + 8_000, value }));
    expect(sparklinePath([at(0, 10), later], size)).toBe('M1.5,20.5L20.1,1.5M75.9,1.5L94.5,1.5');
  });
});

describe('a payload that is typed', () => {
  it.each(['{"a":1}', '[1, 2]', '"text"', '12', 'hello {world}', ''])(
    'is sent without a question: %s',
    (text) => {
      expect(jsonFault(text)).toBeNull();
    },
  );

  it.each(['{"a":1', '[1, 2', ' {a: 1}', '"text'])(
    'needs a confirmation if it looks like broken JSON: %s',
    (text) => {
      expect(jsonFault(text)).toMatch(/JSON|string/);
    },
  );
});

describe('the text of metrics', () => {
  it.each([
    ['40 s', { drainState: 'draining', drainMs: 40_000 }],
    ['growing', { drainState: 'growing', drainMs: null }],
    ['empty', { drainState: 'empty', drainMs: null }],
    ['steady', { drainState: 'steady', drainMs: null }],
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
