import type { QueueStats } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import {
  addReading,
  type QueueReading,
  queueRange,
  queueSamples,
  queueTable,
} from '../src/model/queue-history.ts';
import { formatDrain, formatHitRatio, formatPartitions } from '../src/model/queue-metrics-text.ts';

const stats = (asOfMs: number, enqueued: number, consumed: number) =>
  ({ asOfMs, total: { enqueued, consumed, depth: enqueued - consumed } }) as QueueStats;
const readingsOf = (answers: readonly QueueStats[]) =>
  answers.reduce<readonly QueueReading[]>(addReading, []);

describe('the history of a queue', () => {
  it('has the rates between successive readings', () => {
    const readings = readingsOf([stats(10_000, 100, 40), stats(11_000, 150, 60), stats(13_000, 150, 150)]);
    expect(queueSamples(readings)).toEqual([
      { atMs: 1_000, enqueuePerSec: 50, dequeuePerSec: 20, depth: 90 },
      { atMs: 3_000, enqueuePerSec: 0, dequeuePerSec: 45, depth: 0 },
    ]);
    expect(queueTable(queueSamples(readings)).rows).toEqual([
      [1, 50, 20, 90],
      [3, 0, 45, 0],
    ]);
  });

  it('leaves out an answer that is not newer, or that lacks part of the cluster', () => {
    const readings = readingsOf([stats(10_000, 100, 40), stats(10_000, 100, 40), stats(11_000, 60, 20)]);
    expect(readings).toHaveLength(1);
    expect(queueSamples(readings)).toEqual([]);
  });

  it('is limited to five minutes', () => {
    const readings = readingsOf(Array.from({ length: 400 }, (_, second) => stats(second * 1_000, second, 0)));
    expect(readings).toHaveLength(300);
    const samples = queueSamples(readings);
    expect(queueRange(samples)).toEqual({ fromMs: 1_000, toMs: 299_000 });
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
