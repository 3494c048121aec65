/** Time books that are consistent and false: they contradict what the harness measures from outside of the processes. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Durability, Point } from '@shardlab/contract';
import { planRun } from '@shardlab/lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contradictionOf } from '../src/programs/queue/points/contradiction.ts';
import { type QueuePoint, queuePointOf } from '../src/programs/queue/points/queue-point.ts';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import { runTrial } from '../src/programs/queue/trial/run-trial.ts';
import { summarisePoint } from '../src/run/point.ts';
import { kernelFigures, readKernelCounters } from '../src/surroundings/kernel-counters.ts';
import type { MeasuredRepeat } from '../src/trial/trial.ts';
import { point, smallScenario } from './support.ts';

// The folder is on a disk. Other tests may keep their files in memory, where no thread blocks for a sync.
const parent = existsSync('/var/tmp') ? '/var/tmp' : tmpdir();
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(parent, 'shardlab-test-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A real trial of one instance with four enqueuers and four dequeuers. */
async function trialOf(system: string, durability: Durability) {
  const scenario = smallScenario({
    systems: [system],
    parameters: { durability, payloadBytes: 512, operationsPerTransaction: 5 },
    sweep: { instances: [1], threads: [4] },
    phases: { warmupMs: 100, measureMs: 900, drainMs: 5_000 },
  });
  const { trials, phases } = planRun(scenario, 'full');
  const outcome = await runTrial({ trial: trials[0]!, scenario, phases, dir: join(folder, 'trial') });
  const summarise = (changed: MeasuredRepeat = outcome): Point =>
    summarisePoint(trials[0]!, [changed], queueProgram);
  return { outcome, summarise };
}

/** A point with the rates of a trial and a forged time book, in which each commit waited long for a sync. */
function withBooksOfDurable({ params, ...measured }: Point): Point {
  const { measuredMs } = measured.repeats[0]!;
  const { enqueuePerSec, dequeuePerSec } = measured.figures;
  const commits = ((enqueuePerSec!.value + dequeuePerSec!.value) / 5) * (measuredMs / 1000);
  const synced = {
    event: 'log file sync',
    class: 'commit' as const,
    waits: Math.ceil(commits),
    p99Ms: 1,
    emulated: false,
  };
  const syncWaitOfWrite = { ...enqueuePerSec!, value: 1.5, repeats: [1.5] };
  return {
    ...measured,
    params: { ...params, durability: 'durable' },
    waits: [{ ...synced, totalMs: 0.6 * 8 * measuredMs }],
    figures: { ...measured.figures, syncWaitOfWrite },
  };
}

/** On a busy machine sessions wait for a core after their writer has finished, so it is enough if one of these trials agrees. */
const trialsMax = 5;

describe.runIf(platform() === 'linux')('what the kernel counted', () => {
  test.each(['sharded', 'unsharded', 'unsharded-grouped'])(
    'agrees with the books of a durable %s queue',
    async (system) => {
      const contradictions: string[] = [];
      for (let trial = 1; trial <= trialsMax; trial += 1) {
        const measured = (await trialOf(system, 'durable')).summarise();
        expect(queuePointOf(measured).kernel!.writtenBytesPerSec).toBeGreaterThan(0);
        const contradiction = contradictionOf(queuePointOf(measured), null);
        expect(measured.conditions!.contradictions === undefined).toBe(contradiction === null);
        if (contradiction === null) return;
        contradictions.push(contradiction);
      }
      expect(contradictions).toEqual([]);
    },
  );

  test('contradicts the time book of a queue in memory that claims to sync', async () => {
    const { summarise } = await trialOf('sharded', 'memory');
    const measured = summarise();
    expect(contradictionOf(queuePointOf(measured), null)).toBeNull();
    const forged = queuePointOf(withBooksOfDurable(measured));
    expect(contradictionOf({ ...forged, kernel: null }, null)).toBeNull();
    expect(contradictionOf(forged, null)).toMatch(
      /its processes wrote .* MiB a second, and its messages have/,
    );
  });

  test('is summed over the given processes, and missing once one of them has ended', () => {
    const before = readKernelCounters([process.pid], 1_000)!;
    const after = {
      ...before,
      atMs: 1_500,
      writtenBytes: before.writtenBytes + 100,
      cpuUs: before.cpuUs + 1e6,
    };
    expect(kernelFigures(before, after)).toEqual({
      writtenBytesPerSec: 200,
      blocksPerSec: 0,
      kernelCores: 2,
    });
    expect(readKernelCounters([process.pid, 2 ** 22 + 1], 0)).toBeNull();
    expect(kernelFigures(before, null)).toEqual({});
  });
});

test('a time book with commit waits that are too long contradicts the times of the writer', async () => {
  for (let trial = 1; trial <= trialsMax; trial += 1) {
    const { outcome, summarise } = await trialOf('unsharded', 'durable');
    if (summarise().conditions!.contradictions !== undefined) continue; // the true time book must agree first
    const waits = outcome.waits.map((wait) =>
      wait.event === 'log file sync' ? { ...wait, totalMs: 4 * wait.totalMs } : wait,
    );
    const figures = { ...outcome.figures, syncWaitOfWrite: 4 * outcome.figures.syncWaitOfWrite! };
    const found = summarise({ ...outcome, waits, figures }).conditions!.contradictions;
    if (found === undefined) continue; // there were too few commits to judge
    expect(found).toEqual([expect.stringMatching(/waited .* ms for a log file sync|of their time/)]);
    return;
  }
  expect.fail(`No forged time book was detected in ${trialsMax} trials`);
});

test('one commit of each session may be under way at each edge of the window without a contradiction', () => {
  const with65Percent = (threads: number) =>
    queuePointOf(point({ threads, deq: 1_650, waits: [{ waits: 215, totalMs: 1_400 * threads }] }));
  expect(contradictionOf(with65Percent(32), null)).toBeNull();
  expect(contradictionOf(with65Percent(1), null)).toBe('65 % of its commits waited for a sync');
});

test('commits are counted within each repeat, so that slower repeats are no contradiction', () => {
  const waited = (waits: number) =>
    queuePointOf(
      point({ threads: 1, deq: 1_650, repeats: [1, 1, 1, 0.4, 0.4], waits: [{ waits, totalMs: 700 }] }),
    );
  const commits = (3.8 * 2 * 1_650) / 10;
  expect(contradictionOf(waited(commits), null)).toBeNull();
  expect(contradictionOf(waited(0.8 * commits), null)).toBe('80 % of its commits waited for a sync');
});

test('a commit of a sharded queue may wait for as many groups as hold one transaction of each session, one of an unsharded queue for itself only', () => {
  const waited = (multiple: number, operations: number, system = 'sharded') => ({
    ...queuePointOf(point({ system, threads: 32, operations, deq: 200 * operations })),
    syncWaitOfWrite: multiple,
  });
  expect(contradictionOf(waited(3.5, 10), null)).toBeNull();
  expect(contradictionOf(waited(6, 10), null)).toMatch(/for a log file sync, and their writer took/);
  expect(contradictionOf(waited(6, 1_000), null)).toBeNull();
  expect(contradictionOf(waited(3.5, 10, 'unsharded-grouped'), null)).toMatch(/their writer took/);
});

test('sessions that neither wait nor run contradict the point unless their thread is busy', () => {
  const topic = (coresBusy: number) => {
    const deq = 100_000;
    const cpuUs = (coresBusy * 1e6) / deq;
    const measured = queuePointOf(point({ threads: 32, subscribers: 10, operations: 1_000, deq, cpuUs }));
    return { ...measured, waits: measured.waits.map((wait) => ({ ...wait, totalMs: 7_000 })) };
  };
  expect(contradictionOf(topic(0.9), 2)).toBeNull();
  expect(contradictionOf(topic(0.2), 2)).toBe("waits and CPU explain 2 % of its sessions' time");
});

describe('time books', () => {
  const measured = (changes: Partial<QueuePoint>) => ({
    ...queuePointOf(point({ threads: 4, deq: 10_000 })),
    ...changes,
  });

  test('that leave out more than 5 % of their sessions’ time contradict the point, even on one instance only', () => {
    expect(contradictionOf(measured({ timeAccounted: [0.96, 0.96, 1.04] }), 2)).toBeNull();
    expect(contradictionOf(measured({ timeAccounted: [0.69, 0.69] }), 2)).toBe(
      'the time books of its sessions explain 69 % of their time',
    );
    expect(contradictionOf(measured({ timeAccounted: [0.98, 1, 0.9] }), null)).toMatch(/explain 90 %/);
  });

  test('that count some of the time twice contradict the point too', () => {
    expect(contradictionOf(measured({ timeAccounted: [1.07] }), 2)).toMatch(/explain 107 %/);
  });

  const undisturbed = { otherCpuShare: 0, syncRatio: 1, isDisturbed: false };
  const onCpu = (sessionCpuOfThread: number, { cores = 0.1, disturbance = undisturbed } = {}) => {
    const { kernel, repeats, ...usual } = measured({ timeAccounted: [1], sessionCpuOfThread });
    const cpuUsPerMessage = (cores * 1e6) / usual.dequeuePerSec;
    return {
      ...usual,
      cpuUsPerMessage,
      coresBusy: cores,
      kernel: { ...kernel!, cores },
      repeats: repeats.map((repeat) => ({ ...repeat, cpuUsPerMessage, disturbance })),
    };
  };

  test('that have sessions on CPU longer than their thread contradict the kernel, if cores were free', () => {
    expect(contradictionOf(onCpu(1.1), 2)).toBeNull();
    expect(contradictionOf(onCpu(1.7), 2)).toBe(
      'its sessions were on CPU 1.70 times as long as their threads, while cores were free',
    );
  });

  test('of threads that waited for a core are credible', () => {
    expect(contradictionOf(onCpu(3.4, { cores: 1.9 }), 2)).toBeNull();
    expect(contradictionOf(onCpu(1.7, { disturbance: { ...undisturbed, isDisturbed: true } }), 2)).toBeNull();
    expect(contradictionOf(onCpu(1.7), null)).toBeNull();
    const { params, ...others } = onCpu(1.7);
    expect(contradictionOf({ ...others, params: { ...params, sessions: 'remote' } }, 2)).toBeNull();
  });
});

test('a dequeuer whose rows have transactions of their own counts as two sessions that wait in turn', () => {
  const waits = [{ waits: 2_000, totalMs: 12_000 }];
  const { params, ...measured } = queuePointOf(point({ threads: 4, deq: 10_000, waits }));
  expect(contradictionOf({ params, ...measured }, 2)).toBe('its sessions waited 150 % of their time');
  expect(contradictionOf({ params: { ...params, rows: 'separate' }, ...measured }, 2)).toBeNull();
});
