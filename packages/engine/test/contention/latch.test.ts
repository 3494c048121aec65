/** The latch admits one thread at a time, and its counts add up. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Latch } from '../../src/contention/latch.ts';
import { GuardCounts } from '../../src/contention/session-counts.ts';
import type { GuardStatistics } from '../../src/index.ts';
import { nodeClocks } from '../../src/node-clocks.ts';
import { firstAt, type LatchWork, secondAt } from './latch-thread.ts';

async function contend(work: Omit<LatchWork, 'words' | 'holder'>) {
  const memory = new SharedArrayBuffer(64 * Int32Array.BYTES_PER_ELEMENT);
  const results = await Promise.all(
    Array.from({ length: work.threads }, async (_, index) => {
      const data: LatchWork = { ...work, words: memory, holder: index + 1 };
      const worker = new Worker(new URL('./latch-thread.ts', import.meta.url), { workerData: data });
      onTestFinished(async () => void (await worker.terminate()));
      const [result] = await once(worker, 'message');
      return result as { counts: GuardStatistics; unequal: number };
    }),
  );
  const words = new Int32Array(memory);
  return {
    total: [words[firstAt], words[secondAt]],
    unequal: results.reduce((sum, { unequal }) => sum + unequal, 0),
    counts: results.map(({ counts }) => counts),
  };
}

/** A clock that advances by a millisecond at each reading. */
function steppingClock() {
  let nowMs = 0;
  return { nowMs: () => (nowMs += 1) };
}

const { thread } = nodeClocks;
const noTimer = { begin: () => undefined, end: () => 0 };

describe('a latch', () => {
  it.each([
    ['that spins', 255],
    ['that sleeps at once', 0],
  ])('%s is held by one thread at a time, and its counts add up', async (_, spins) => {
    const gets = 20_000;
    const { total, unequal, counts } = await contend({ threads: 3, gets, isGuarded: true, spins });
    expect(total).toEqual([3 * gets, 3 * gets]);
    expect(unequal).toBe(0);
    for (const each of counts) {
      expect(each.gets).toBe(gets);
      expect(each.misses).toBe(each.spinGets + each.sleeps - each.recurrentSleeps);
      expect(each.histogram.reduce((sum, count) => sum + count, 0)).toBe(gets);
      expect(each.sleepMs).toBeLessThanOrEqual(each.totalMs);
    }
  });

  it('is needed: without it changes are lost', async () => {
    const gets = 20_000;
    let lost = false;
    for (let round = 0; round < 50 && !lost; round += 1) {
      const { total } = await contend({ threads: 2, gets: gets * (round + 1), isGuarded: false, spins: 0 });
      lost = total[0]! < 2 * gets * (round + 1);
    }
    expect(lost).toBe(true);
  });

  it('is released when its section throws', () => {
    const words = new Int32Array(new SharedArrayBuffer(64));
    const counts = new GuardCounts();
    const latch = new Latch({
      words,
      at: 0,
      holder: 1,
      counts,
      timer: noTimer,
      clock: steppingClock(),
      thread,
    });
    expect(() =>
      latch.within(() => {
        throw new Error('in the section');
      }),
    ).toThrow('in the section');
    expect(latch.within(() => words[0])).toBe(1);
    expect(counts.read()).toMatchObject({ gets: 2, misses: 0, totalMs: 2, maxMs: 1 });
  });

  it('is given up by a waiter whose holder never releases it, with an error that names the holder', () => {
    const words = new Int32Array(new SharedArrayBuffer(64));
    words[0] = 8;
    const counts = new GuardCounts();
    const latch = new Latch({
      words,
      at: 0,
      holder: 1,
      counts,
      timer: noTimer,
      clock: steppingClock(),
      thread,
      spins: 3,
      getMsMax: 5,
    });
    expect(() => latch.within(() => undefined)).toThrow(
      expect.objectContaining({ code: 'LATCH_TIMEOUT', details: { session: 7, getMsMax: 5 } }),
    );
    const { gets, misses, spinGets, sleeps } = counts.read();
    expect({ gets, misses, spinGets }).toEqual({ gets: 1, misses: 1, spinGets: 0 });
    expect(sleeps).toBeGreaterThan(0);
  });
});
