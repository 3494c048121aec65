/** The smallest form of the bench: shape and integrity, never speed. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Scale, scales } from '../src/plan/scale.ts';
import { benchOf } from '../src/report/bench.ts';
import { documentOf } from '../src/report/document.ts';
import { terminalReport } from '../src/report/terminal.ts';
import { measure } from '../src/run-bench.ts';

function makeFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

describe('the bench', () => {
  it('measures everything it names, with nothing lost, and continues where it was', {
    timeout: 600_000, // a minute on two idle cores
  }, async () => {
    // On a busy machine 0.1 s may pass without a message, and half of no rate is none.
    const scale: Scale = { ...scales.smallest, measureMs: 400 };
    const journal = join(makeFolder(), 'journal');
    const seen: string[] = [];
    const options = {
      scale,
      payloadBytes: 512,
      journal,
      onProgress: ({ what }: { what: string }) => seen.push(what),
    };
    const measured = await measure({ ...options, dataDir: makeFolder() });
    const bench = benchOf(measured, scale.standing);
    expect(bench.failures).toEqual([]);
    expect(bench.rawLimit).toHaveLength(4);
    expect(bench.rawLimit.every(({ rowsPerSec }) => rowsPerSec.median > 0)).toBe(true);
    for (const result of bench.results) {
      expect(result.integrity, result.trial).toMatchObject({
        lost: 0,
        duplicated: 0,
        damaged: 0,
        outOfOrder: 0,
      });
      expect(result.durabilityStated).not.toBe('');
      expect(result.enqueuePerSec === null, result.trial).toBe(result.phase === 'dequeue only');
      expect(result.dequeuePerSec === null, result.trial).toBe(result.phase === 'enqueue only');
    }
    const systems = new Set(bench.results.map(({ driver, durability }) => `${driver} ${durability}`));
    expect(systems).toEqual(
      new Set(['sharded durable', 'unsharded durable', 'generator none', 'plainjob FULL', 'plainjob NORMAL']),
    );
    const phases = new Set(bench.results.map(({ phase }) => phase));
    expect([...phases].toSorted()).toEqual(
      ['both at once', 'dequeue only', 'enqueue only', 'open loop', 'standing backlog'].toSorted(),
    );
    expect(Object.keys(bench.ratios)).toEqual([
      'queue10',
      'queue1000',
      'queue1x32',
      'single1',
      'topic10',
      'cpuUnshardedOverSharded',
      'unshardedOverRawCycle',
      'unshardedOverBestSqlitePeer',
      'overBestSyncedPeer',
      'overBestPeer',
      'backlog',
    ]);
    for (const [name, value] of Object.entries(bench.ratios)) {
      const target = bench.targets.find((each) => each.name === name);
      expect(target?.value, name).toBe(value);
      if (value === null)
        expect(target, name).toMatchObject({ met: false, reason: expect.stringMatching(/./) });
    }
    const report = terminalReport(bench);
    expect(report).toContain('unshardedOverRawCycle');
    expect(documentOf(bench, readFileSync(new URL('../tried.md', import.meta.url), 'utf8'))).toContain(
      '## Designs tried',
    );

    // Everything is in the journal: a second run measures nothing and says the same.
    const lines = readFileSync(journal, 'utf8');
    const again = benchOf(await measure({ ...options, dataDir: makeFolder() }), scale.standing);
    expect(again.results).toEqual(bench.results);
    expect(readFileSync(journal, 'utf8')).toBe(lines);
  });
});
