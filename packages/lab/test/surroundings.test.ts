/** Other work on the machine, and repeats that are measured again because of it. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pointKey } from '@shardlab/contract';
import { describe, expect, onTestFinished, test } from 'vitest';
import { closedLoop } from '../src/programs/load/closed-loop-program.ts';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import {
  againShareMax,
  attemptsMax,
  isWorthAnother,
  measureRepeat,
  NeverSteadyPoints,
} from '../src/run/measure-repeat.ts';
import {
  durabilityOf,
  loopCellOf,
  probeOf,
  withShares,
  withSharesOfLoops,
} from '../src/run/measured-beside.ts';
import type { RunPlan } from '../src/run/plan-run.ts';
import { TrialMeasurer } from '../src/run/trial-measurer.ts';
import {
  machineTicks,
  parseProcessStat,
  shareOfOthers,
  treeTicks,
} from '../src/surroundings/cpu-of-others.ts';
import { disturbanceOf } from '../src/surroundings/disturbance.ts';
import { type RawShape, Surroundings } from '../src/surroundings/surroundings.ts';
import type { MeasuredRepeat, Trial } from '../src/trial/trial.ts';
import { smallScenario } from './support.ts';

describe('CPU of other processes', () => {
  test('of the machine is all time except idle time and waits for the disk', () => {
    expect(machineTicks('cpu  10 1 5 100 20 2 3 4 9 9\ncpu0 1 2\n')).toEqual({ all: 145, busy: 25 });
  });

  test('of a process is read after its name, which may contain any character', () => {
    const line = `42 (a) b (c)) S 7 ${Array.from({ length: 9 }, () => 0).join(' ')} 100 20 3 4 0 0`;
    expect(parseProcessStat(line)).toEqual({ pid: 42, parent: 7, ticks: 127 });
  });

  test('is what the tree of this process did not use', () => {
    const tree = (ticks: number) => [
      { pid: 1, parent: 0, ticks: 1_000 },
      { pid: 5, parent: 1, ticks: 1 },
      { pid: 6, parent: 5, ticks },
      { pid: 7, parent: 6, ticks: 2 },
    ];
    expect([treeTicks(tree(10), 5), treeTicks(tree(10), 99)]).toEqual([13, 0]);
    const before = { all: 0, busy: 0, own: 0 };
    expect(shareOfOthers(before, { all: 200, busy: 150, own: 100 })).toBe(0.25);
    // The machine's time and that of the tree are read one after the other, so the tree may seem to have used more.
    expect(shareOfOthers(before, { all: 200, busy: 99, own: 100 })).toBe(0);
    expect(shareOfOthers(before, before)).toBe(0);
  });
});

describe('a trial is disturbed', () => {
  const quiet = { otherCpuShare: 0.1, startSyncMs: 1, syncMs: { before: 1.5, after: 1.9 } };
  test.each([
    ['by nothing', {}, false],
    ['by other CPU', { otherCpuShare: 0.2 }, true],
    ['by a disk that was slow before it', { syncMs: { before: 2.1, after: 1 } }, true],
    ['by a disk that was slow after it', { syncMs: { before: 1, after: 2.1 } }, true],
    ['not where a sync takes no time', { startSyncMs: 0.01, syncMs: { before: 0.1, after: 0.2 } }, false],
    ['not where the CPU of others is unknown', { otherCpuShare: null }, false],
  ])('%s', (_, changes, isDisturbed) => {
    expect(disturbanceOf({ ...quiet, ...changes })).toMatchObject({ isDisturbed });
  });

  test('with the figures that show it', () => {
    expect(disturbanceOf({ ...quiet, syncMs: { before: 1.5, after: 3 } })).toEqual({
      otherCpuShare: 0.1,
      syncRatio: 3,
      isDisturbed: true,
    });
  });
});

describe('a repeat', () => {
  const clean = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
  const attempt = (rate: number, facts: { steady?: boolean; disturbed?: boolean; lost?: number } = {}) =>
    ({
      figures: { dequeuePerSec: rate },
      integrity: { ...clean, lost: facts.lost ?? 0 },
      steady: { rateDrift: 0, backlogDrift: 0, isSteady: facts.steady ?? true },
      disturbance: { otherCpuShare: 0, syncRatio: 1, isDisturbed: facts.disturbed ?? false },
    }) as unknown as MeasuredRepeat;

  async function measure(attempts: MeasuredRepeat[], allowed = attempts.length) {
    const reasons: (string | null)[] = [];
    const kept = await measureRepeat({
      attempt: async (reason) => {
        reasons.push(reason);
        return attempts[reasons.length - 1]!;
      },
      mayMeasureAgain: () => reasons.length < allowed,
    });
    return { kept, reasons };
  }

  test('is measured once if it is steady and undisturbed', async () => {
    const { kept, reasons } = await measure([attempt(1), attempt(2)]);
    expect(kept).toMatchObject({ figures: { dequeuePerSec: 1 }, attempts: 1 });
    expect(reasons).toEqual([null]);
  });

  test('is measured again if it is not, and the reason is reported', async () => {
    const { kept, reasons } = await measure([attempt(1, { steady: false, disturbed: true }), attempt(2)]);
    expect(kept).toMatchObject({ figures: { dequeuePerSec: 2 }, attempts: 2 });
    expect(reasons).toEqual([null, 'not steady and disturbed']);
  });

  test('is given up after its second attempt, or when the time for that is over', async () => {
    const never = Array.from({ length: 9 }, (_, index) => attempt(index, { steady: false }));
    expect((await measure(never)).kept.attempts).toBe(attemptsMax);
    expect((await measure(never, 1)).kept.attempts).toBe(1);
  });

  test('of a long trial, for which no time is left, does not use up the time of a short one', async () => {
    const estimates: Record<string, number> = { long: 20_000, short: 2_000 };
    const plan = {
      estimatedMs: 5_000 / againShareMax,
      phases: { measureMs: 1_000 },
      kills: new Set(),
      program: {
        figures: [{ name: 'dequeuePerSec' }],
        run: async () => attempt(1, { steady: false }),
        estimateTrialMs: ({ key }: Trial) => estimates[key]!,
      },
    } as unknown as RunPlan;
    const surroundings = {
      measure: async (_: unknown, trial: () => Promise<MeasuredRepeat>) => ({
        result: await trial(),
        disturbance: { otherCpuShare: 0, syncRatio: 1, isDisturbed: false },
        perSec: {},
      }),
    } as unknown as Surroundings;
    const again: string[] = [];
    const measurer = new TrialMeasurer({
      plan,
      scenario: smallScenario({}),
      surroundings,
      scale: 'full',
      onTick: (tick) => tick,
      onDetour: ({ key }) => again.push(key),
    });
    for (const key of ['long', 'short', 'long']) await measurer.measure({ key, params: {} } as Trial, '');
    expect(again).toEqual(['short']);
  });

  test('is not measured again if its window is under half a second, but is if its work is counted', () => {
    const timed = attempt(1, { steady: false });
    expect(isWorthAnother(timed, { measureMs: 499 })).toBe(false);
    expect(isWorthAnother(timed, { measureMs: 500 })).toBe(true);
    expect(isWorthAnother({}, { measureMs: 100 })).toBe(true);
  });

  test('of a point that was never steady is measured again only if it was disturbed, until one is steady', () => {
    const points = new NeverSteadyPoints();
    const unsteady = attempt(1, { steady: false });
    points.add('a', { ...unsteady, attempts: attemptsMax - 1 }); // no time was left for another attempt
    expect(points.expectsAnother('a', unsteady)).toBe(true);
    points.add('a', { ...unsteady, attempts: attemptsMax });
    expect(points.expectsAnother('a', unsteady)).toBe(false);
    expect(points.expectsAnother('a', attempt(1, { steady: false, disturbed: true }))).toBe(true);
    expect(points.expectsAnother('b', unsteady)).toBe(true);
    points.add('a', { ...unsteady, attempts: 1 });
    expect(points.expectsAnother('a', unsteady)).toBe(false);
    points.add('a', { ...attempt(1), attempts: 1 });
    expect(points.expectsAnother('a', unsteady)).toBe(true);
  });

  test('is the attempt with the fewest faults if none is steady and undisturbed', async () => {
    const { kept } = await measure([
      attempt(1, { steady: false }),
      attempt(9, { steady: false, disturbed: true }),
    ]);
    expect(kept.figures.dequeuePerSec).toBe(1);
  });

  test('includes the messages that its other attempts lost', async () => {
    const { kept } = await measure([attempt(1, { disturbed: true, lost: 2 }), attempt(2)]);
    expect(kept.integrity.lost).toBe(2);
  });
});

describe('beside a trial', () => {
  const shape: RawShape = {
    cycle: 'insert-select-delete',
    operationsPerTransaction: 10,
    pageBytes: 4096,
    payloadBytes: 64,
  };

  test('probes are shared by adjacent trials with the same transactions, and leave no files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const surroundings = new Surroundings({ folder, startSyncMs: 1, scale: 'quick' });
    const probes = [surroundings.rawProbe(shape)];
    const first = await surroundings.measure(probes, async () => 'result');
    const second = await surroundings.measure(probes, async () => 'next');
    expect(first.result).toBe('result');
    const [before, after] = [first.perSec.raw!, second.perSec.raw!];
    expect(Math.min(...before, ...after)).toBeGreaterThan(0);
    expect(after[0]).toBe(before[1]);
    expect(await surroundings.measure([], async () => 1)).toMatchObject({ perSec: {} });
    expect(await readdir(folder)).toEqual([]);
  });

  test('a probe with another shape than the last one of its name is measured before the trial too', async () => {
    const surroundings = new Surroundings({ folder: tmpdir(), startSyncMs: 1, scale: 'quick' });
    let count = 0;
    const probe = (name: string, ofShape: unknown) => ({ name, shape: ofShape, perSec: async () => ++count });
    const measure = async (probes: ReturnType<typeof probe>[]) =>
      (await surroundings.measure(probes, async () => 0)).perSec;
    expect(await measure([probe('a', { x: 1 }), probe('b', 1)])).toEqual({ a: [1, 3], b: [2, 4] });
    expect(await measure([probe('a', { x: 2 }), probe('b', 1)])).toEqual({ a: [5, 6], b: [4, 7] });
  });

  test('the ratio to the raw limit is the rate of the trial divided by the mean of its two probes', () => {
    const result = { figures: { dequeuePerSec: 300 } } as unknown as MeasuredRepeat;
    const disturbance = { otherCpuShare: null, syncRatio: 1, isDisturbed: false };
    const withRates = (perSec: Record<string, [number, number]>) =>
      withShares({ result, disturbance, perSec }, queueProgram).figures;
    const rawFigures = { rawPerSec: 600, rawRatio: 0.5 };
    expect(withRates({ raw: [400, 800] })).toEqual({ dequeuePerSec: 300, ...rawFigures });
    expect(withRates({ raw: [400, 800], logLoop: [500, 700] })).toEqual({
      dequeuePerSec: 300,
      ...rawFigures,
      logLoopPerSec: 600,
      logLoopRatio: 0.5,
    });
    expect(withRates({})).toEqual({ dequeuePerSec: 300 });
  });

  test('the shares of loops that are systems of the run are those of the same repeat, and not beside a probe', () => {
    const params = { operationsPerTransaction: 10 };
    const trial = { program: closedLoop.id, system: 'sharded', params, repeat: 1, index: 9, key: '' };
    const repeat = (figures: Record<string, number>) => ({ figures }) as unknown as MeasuredRepeat;
    const measured = new Map([
      [
        pointKey({ ...trial, system: 'log-loop' }),
        [repeat({ enqueuePerSec: 1 }), repeat({ enqueuePerSec: 400 })],
      ],
      [pointKey({ ...trial, system: 'group-loop' }), [repeat({ enqueuePerSec: 200 })]],
    ]);
    const figuresOf = (figures: Record<string, number>) =>
      withSharesOfLoops(trial, repeat(figures), closedLoop, measured).figures;
    const ofLog = { logLoopPerSec: 400, logLoopRatio: 0.25 };
    expect(figuresOf({ enqueuePerSec: 100 })).toEqual({ enqueuePerSec: 100, ...ofLog });
    expect(figuresOf({ enqueuePerSec: 100, logLoopPerSec: 50 })).toEqual({
      enqueuePerSec: 100,
      logLoopPerSec: 50,
    });
  });

  test('the loops have the sessions, transactions and payload of the trial', () => {
    const params = { threads: 4, operationsPerTransaction: 10, payloadBytes: 64 };
    const cell = { schedule: 'at-once', enqueuers: 4, dequeuers: 4, subscribers: 0 };
    const rest = { operationsPerTransaction: 10, payloadBytes: 64 };
    const probes = { probes: true };
    expect(loopCellOf({}, queueProgram, params)).toBeNull();
    expect(loopCellOf(probes, queueProgram, params)).toEqual({ ...cell, ...rest });
    expect(loopCellOf(probes, queueProgram, { ...params, subscribers: 3 })).toEqual({
      ...{ ...cell, dequeuers: 12, subscribers: 3 },
      ...rest,
    });
    expect(loopCellOf(probes, queueProgram, { ...params, payloadBytes: 2 ** 20 })).toBeNull();
    expect(loopCellOf(probes, closedLoop, { ...rest, schedule: 'enqueue-then-dequeue' })).toEqual({
      ...{ ...cell, schedule: 'enqueue', enqueuers: 16, dequeuers: 16 },
      ...rest,
    });
    expect(loopCellOf(probes, {}, params)).toBeNull();
  });

  test('a raw probe has the transactions of the trial, or those that the scenario names', () => {
    const params = { operationsPerTransaction: 10, payloadBytes: 64 };
    const other = { cycle: 'insert', operationsPerTransaction: 1_000, pageBytes: 16_384 } as const;
    expect(probeOf({}, queueProgram, params)).toBeNull();
    expect(probeOf({ probes: false }, queueProgram, params)).toBeNull();
    expect(probeOf({ probes: true }, queueProgram, params)).toEqual(shape);
    expect(probeOf({ probes: other }, queueProgram, params)).toEqual({ ...other, payloadBytes: 64 });
    expect(probeOf({ probes: true }, {}, params)).toBeNull();
  });

  test('the evidence of durability is shown, not shown, not promised or not sampled', () => {
    const killed = {
      ...{ durability: 'durable', enqueued: 5, consumed: 0, inDoubt: 0, recovered: 5 },
      ...{ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    };
    const evidence = (durability: string, result?: typeof killed) =>
      durabilityOf({ system: 'sharded', params: { durability } }, queueProgram, result).evidence;
    expect(evidence('durable', killed)).toBe('shown');
    expect(evidence('durable', { ...killed, lost: 1 })).toBe('not shown');
    expect(evidence('durable', { ...killed, outOfOrder: 1 })).toBe('not shown');
    expect(evidence('durable', { ...killed, enqueued: 0 })).toBe('not sampled');
    expect(evidence('relaxed')).toBe('not sampled');
    expect(evidence('memory')).toBe('not promised');
    expect(evidence('memory', { ...killed, lost: 1 })).toBe('not promised');
  });
});
