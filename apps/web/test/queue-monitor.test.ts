import type { QueueStats } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import {
  type QueueLook,
  queueRange,
  queueSamples,
  queueTable,
  withLook,
} from '../src/model/queue-history.ts';
import { drainWords, hitWords, partitionWords } from '../src/model/queue-words.ts';

const seen = (asOfMs: number, enqueued: number, consumed: number) =>
  ({ asOfMs, total: { enqueued, consumed, depth: enqueued - consumed } }) as QueueStats;
const look = (all: readonly QueueStats[]) => all.reduce<readonly QueueLook[]>(withLook, []);

describe('what a page saw of a queue', () => {
  it('is the rates between one look and the next', () => {
    const looks = look([seen(10_000, 100, 40), seen(11_000, 150, 60), seen(13_000, 150, 150)]);
    expect(queueSamples(looks)).toEqual([
      { atMs: 1_000, enqueuePerSec: 50, dequeuePerSec: 20, depth: 90 },
      { atMs: 3_000, enqueuePerSec: 0, dequeuePerSec: 45, depth: 0 },
    ]);
    expect(queueTable(queueSamples(looks)).rows).toEqual([
      [1, 50, 20, 90],
      [3, 0, 45, 0],
    ]);
  });

  it('leaves out an answer that is no newer, or of a part of the cluster', () => {
    const looks = look([seen(10_000, 100, 40), seen(10_000, 100, 40), seen(11_000, 60, 20)]);
    expect(looks).toHaveLength(1);
    expect(queueSamples(looks)).toEqual([]);
  });

  it('goes back five minutes', () => {
    const looks = look(Array.from({ length: 400 }, (_, second) => seen(second * 1_000, second, 0)));
    expect(looks).toHaveLength(300);
    const samples = queueSamples(looks);
    expect(queueRange(samples)).toEqual({ fromMs: 1_000, toMs: 299_000 });
  });
});

describe('figures in words', () => {
  it.each([
    ['40 s', { drainState: 'draining', drainMs: 40_000 }],
    ['growing', { drainState: 'growing', drainMs: null }],
    ['empty', { drainState: 'empty', drainMs: null }],
    ['standing', { drainState: 'standing', drainMs: null }],
  ] as const)('%s', (words, drain) => {
    expect(drainWords(drain).replaceAll('\u202f', ' ')).toBe(words);
  });

  it('name the states of partitions that there are', () => {
    expect(partitionWords({ filling: 1, full: 3, drained: 0, damaged: 0 })).toBe('1 filling, 3 full');
    expect(partitionWords({ filling: 0, full: 0, drained: 0, damaged: 0 })).toBe('none');
  });

  it('give the hit ratio once something was handed out', () => {
    expect(hitWords({ hits: 0, misses: 0 })).toBe('–');
    expect(hitWords({ hits: 3, misses: 1 })).toBe('75 %');
  });
});
