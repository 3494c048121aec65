/** The smallest form of the bench: shape and integrity, never speed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reportOf } from '../src/report.ts';
import { runBench, spreadOf } from '../src/run-bench.ts';
import { ratiosOf, targetsOf } from '../src/targets.ts';

describe('the bench', () => {
  it('measures everything it names, with nothing lost', { timeout: 120_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const bench = await runBench({
      dataDir,
      rounds: 1,
      measureMs: 200,
      payloadBytes: 512,
      onProgress: () => undefined,
    });
    expect(bench.rawLimit).toHaveLength(16);
    for (const figure of bench.rawLimit) expect(figure.rowsPerSec.median).toBeGreaterThan(0);
    for (const result of bench.results) {
      expect(result.dequeuePerSec).toBeGreaterThan(0);
      expect(result.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
    }
    expect(reportOf(bench)).toContain('queue1000');
  });
});

describe('ratios and targets', () => {
  const medians = {
    rawInsert: 400_000,
    rawCycle: { 10: 30_000, 1000: 200_000 },
    dequeuePerSec: { queue10: 280_000, queue1000: 300_000, unsharded10: 20_000, unsharded1000: 150_000 },
    cpuUsPerMessage: { 'queue10 on one instance': 4, unsharded10: 50 },
  };

  it('meet a target only from its value on', () => {
    const targets = targetsOf(ratiosOf(medians));
    const target = (name: string) => targets.find((each) => each.name === name);
    expect(target('queue10')).toMatchObject({ value: 0.7, met: true });
    expect(target('queue1000')).toMatchObject({ value: 0.75, met: false });
    expect(target('cpuUnshardedOverSharded')).toMatchObject({ value: 12.5, met: true });
    expect(target('unshardedOverRawCycle')?.value).toBeCloseTo(0.667, 2);
    expect(target('unshardedOverRawCycle')?.met).toBe(false);
  });

  it('count what was not measured as not met, with the reason', () => {
    const targets = targetsOf(ratiosOf({ ...medians, dequeuePerSec: {} }));
    for (const name of ['queue10', 'queue1x32', 'overBestPeer']) {
      const target = targets.find((each) => each.name === name);
      expect(target).toMatchObject({ value: null, met: false });
      expect(target?.reason).toMatch(/not measured/);
    }
  });

  it('take the median of odd and even counts', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
  });
});
