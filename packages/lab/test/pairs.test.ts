import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { comparePairs } from '../src/pairs/compare-pairs.ts';
import { type MeasuredTrial, runPairs, type TrialPair } from '../src/pairs/run-pairs.ts';

const checkout = resolve(import.meta.dirname, '../../..');

function trial(dequeuePerSec: number, counts: Partial<MeasuredTrial['counts']> = {}): MeasuredTrial {
  return {
    rates: {
      dequeuePerSec,
      enqueuePerSec: dequeuePerSec,
      cpuUsPerMessage: 5,
      sessionCpuUsPerMessage: 3,
      writerCpuUsPerMessage: 0,
      commitMsP50: 1,
      commitMsP99: 4,
      transactionsPerGroup: 16,
      diskBytesPerMessage: 900,
    },
    counts: {
      groupsPerStep: 1,
      syncsPerStep: 1,
      sleepsPerStep: 2,
      writtenBytesPerMessage: 1_000,
      heapBytesPerMessage: 2_000,
      ...counts,
    },
    othersShare: 0.02,
  };
}

/** Six pairs around a ratio: the machine's own speed changes by a factor of three from pair to pair. */
const pairsOf = (ratio: number): TrialPair[] =>
  [1, 3, 2, 1.5, 2.5, 1.2].map((speed, index) => ({
    before: trial(10_000 * speed),
    after: trial(10_000 * speed * ratio * (index % 2 === 0 ? 1.01 : 0.99)),
  }));

describe('the comparison of pairs', () => {
  it('takes ratios pair by pair, so that a machine that changes its speed decides nothing', () => {
    const [rate] = comparePairs(pairsOf(1.1)).rates;
    expect(rate?.name).toBe('dequeuePerSec');
    expect(rate?.ratio.value).toBeCloseTo(1.1, 2);
  });

  it.each([
    [1, 'no loss'],
    [0.95, 'no loss'],
    [0.9, 'undecided'],
    [0.8, 'loss'],
  ] as const)('judges a ratio of %d as %s', (ratio, verdict) => {
    expect(comparePairs(pairsOf(ratio)).verdict).toBe(verdict);
  });

  it('decides nothing with fewer pairs than an interval needs', () => {
    expect(comparePairs(pairsOf(0.5).slice(0, 4)).verdict).toBe('undecided');
  });

  it('compares the least of each count, which noise only adds to', () => {
    const pairs = pairsOf(1);
    pairs[0]!.after = trial(10_000, { writtenBytesPerMessage: 3_000 });
    pairs[1]!.before = trial(10_000, { heapBytesPerMessage: 9_000 });
    expect(comparePairs(pairs).counts.filter(({ isEqual }) => !isEqual)).toEqual([]);
    for (const pair of pairs) pair.after.counts.writtenBytesPerMessage = 1_100;
    expect(comparePairs(pairs).counts.find(({ isEqual }) => !isEqual)).toEqual({
      name: 'writtenBytesPerMessage',
      before: 1_000,
      after: 1_100,
      isEqual: false,
    });
  });

  it('leaves out rates that no trial has', () => {
    const names = comparePairs(pairsOf(1)).rates.map(({ name }) => name);
    expect(names).not.toContain('writerCpuUsPerMessage');
  });
});

it('measures a checkout against itself: each step is one group and one sync in both', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'pairs-'));
  const [pair] = await runPairs({
    before: checkout,
    after: checkout,
    workload: { sessions: 2, operationsPerTransaction: 4 },
    pairs: 1,
    measureMs: 50,
    dataDir,
  });
  const { counts } = comparePairs([pair!]);
  expect(counts.filter(({ name }) => name === 'groupsPerStep' || name === 'syncsPerStep')).toEqual([
    { name: 'groupsPerStep', before: 1, after: 1, isEqual: true },
    { name: 'syncsPerStep', before: 1, after: 1, isEqual: true },
  ]);
  expect(pair!.before.rates.dequeuePerSec).toBeGreaterThan(0);
  expect(pair!.before.counts.heapBytesPerMessage).toBeGreaterThan(0);
});

it('rejects if the engine of a checkout cannot be loaded', async () => {
  await expect(
    runPairs({
      before: '/nowhere',
      after: checkout,
      workload: { sessions: 1, operationsPerTransaction: 1 },
      pairs: 1,
      measureMs: 50,
      dataDir: tmpdir(),
    }),
  ).rejects.toThrow(/nowhere/);
});
