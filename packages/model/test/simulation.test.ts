/** What must hold of every simulation: no message is lost, times add up, the seed decides, and a higher cost never helps. */
import { type ModelWorkload, type SimulationResult, simulate, simulateInSteps } from '@shardlab/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterLike, costsWith, nodeLike, workloadWith } from './model-costs.ts';

const anyWorkload = fc
  .record({
    kind: fc.constantFrom('sharded' as const, 'unsharded' as const),
    instances: fc.integer({ min: 1, max: 5 }),
    enqueuers: fc.integer({ min: 1, max: 12 }),
    rows: fc.integer({ min: 1, max: 12 }),
    subscribers: fc.constantFrom(1, 1, 1, 3),
    operationsPerTransaction: fc.integer({ min: 1, max: 20 }),
    roundTripUs: fc.constantFrom(0, 0, 400),
    backlogMax: fc.constantFrom(50, 2000),
    durability: fc.constantFrom('durable' as const, 'relaxed' as const),
    separate: fc.boolean(),
  })
  .map(
    ({ rows, separate, ...rest }): ModelWorkload => ({
      ...rest,
      payloadBytes: 512,
      dequeuers: rows * rest.subscribers,
      placement:
        separate && rest.kind === 'sharded' && rest.instances > 1 && rest.subscribers === 1
          ? 'separate'
          : 'even',
    }),
  );

const anyCosts = fc.constantFrom(nodeLike, clusterLike);
/** `npm run torture` has more runs. */
const times = process.env.SHARDLAB_SEED === undefined ? 1 : 10;
const anySeed = fc.integer({ min: 0, max: 1e9 });
const small = { warmupOperations: 300, measureOperations: 3_000, simulatedMsMax: 60_000 };

describe('every simulation', () => {
  test('keeps every message: what went in is consumed, held or ready, for each subscriber', () => {
    fc.assert(
      fc.property(anyCosts, anyWorkload, anySeed, (costs, workload, seed) => {
        const { messages } = simulate({ costs, workload, seed, ...small });
        const { enqueued, consumed, held, ready } = messages;
        expect(consumed + held + ready).toBe(enqueued * workload.subscribers);
        expect(Math.min(consumed, held, ready)).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 60 * times },
    );
  });

  test('accounts for all of the time of all sessions', () => {
    fc.assert(
      fc.property(anyCosts, anyWorkload, anySeed, (costs, workload, seed) => {
        const result = simulate({ costs, workload, seed, ...small });
        const shares = Object.values(result.timeShare).reduce((sum, share) => sum + share, 0);
        expect(shares).toBeCloseTo(1, 6);
        const sessions = workload.enqueuers + workload.dequeuers;
        const waiting = result.waits.reduce((sum, wait) => sum + wait.averageSessions, 0);
        expect(waiting / sessions + result.timeShare.running).toBeCloseTo(1, 6);
        for (const share of Object.values(result.use)) expect(share).toBeLessThan(1 + 1e-9);
      }),
      { numRuns: 40 * times },
    );
  });

  test('is decided by its seed', () => {
    fc.assert(
      fc.property(anyCosts, anyWorkload, anySeed, (costs, workload, seed) => {
        const run = () => simulate({ costs, workload, seed, ...small });
        expect(run()).toEqual(run());
      }),
      { numRuns: 12 * times },
    );
  });

  test('does not stall while every instance has enqueuers and dequeuers', () => {
    fc.assert(
      fc.property(anyCosts, anyWorkload, anySeed, (costs, any, seed) => {
        const workload = { ...any, placement: 'even' as const };
        workload.enqueuers = Math.max(any.enqueuers, any.instances);
        workload.dequeuers = Math.max(any.dequeuers, any.instances * any.subscribers);
        expect(simulate({ costs, workload, seed, ...small }).ended).toBe('operations');
      }),
      { numRuns: 40 * times },
    );
  });

  test('of another seed differs, but not by much', () => {
    const rates = [1, 2, 3, 4, 5].map(
      (seed) =>
        simulate({ costs: nodeLike, workload: workloadWith(), seed, measureOperations: 100_000 })
          .dequeuePerSec,
    );
    expect(new Set(rates).size).toBe(5);
    expect(Math.max(...rates) / Math.min(...rates)).toBeLessThan(1.05);
  });
});

describe('a higher cost never makes a queue faster', () => {
  const rate = (costs: typeof nodeLike, workload: ModelWorkload) =>
    simulate({ costs, workload, measureOperations: 40_000 }).dequeuePerSec;
  const cases: [name: string, (factor: number) => SimulationResult['dequeuePerSec']][] = [
    [
      'CPU of an enqueue',
      (f) => rate(costsWith({ sharded: { enqueueUs: 5 * f } }, nodeLike), workloadWith()),
    ],
    ['CPU of a dequeue', (f) => rate(costsWith({ sharded: { dequeueUs: 5 * f } }, nodeLike), workloadWith())],
    ['the writer', (f) => rate(costsWith({ sharded: { writeEnqueueUs: f } }, nodeLike), workloadWith())],
    ['the sync', (f) => rate(costsWith({ redo: { syncUs: 100 * f } }, nodeLike), workloadWith())],
    [
      'the device',
      (f) => rate(costsWith({ redo: { usPerKib: f } }, nodeLike), workloadWith({ instances: 2 })),
    ],
    [
      'slower busy cores',
      (f) => rate(costsWith({ machine: { busyCoreSpeed: 1 / f } }, nodeLike), workloadWith({ instances: 2 })),
    ],
    ['the round trip', (f) => rate(clusterLike, workloadWith({ roundTripUs: 100 * f }))],
    [
      'partition maintenance',
      (f) =>
        rate(
          costsWith({ maintenance: { partitionUs: 2 * f } }, clusterLike),
          workloadWith({ enqueuers: 60, dequeuers: 60 }),
        ),
    ],
    [
      'block transfers',
      (f) =>
        rate(
          costsWith({ unsharded: { transferUs: 100 * f } }, clusterLike),
          workloadWith({ kind: 'unsharded', instances: 4 }),
        ),
    ],
    [
      'rows to skip',
      (f) =>
        rate(
          costsWith({ unsharded: { skipUs: 10 * f } }, clusterLike),
          workloadWith({ kind: 'unsharded', enqueuers: 30, dequeuers: 30 }),
        ),
    ],
  ];
  test.each(cases)('%s', (_, rateAt) => {
    const rates = [1, 2, 4].map(rateAt);
    expect(rates[1]! / rates[0]!).toBeLessThan(1.02);
    expect(rates[2]! / rates[1]!).toBeLessThan(1.02);
    expect(rates[2]! / rates[0]!).toBeLessThan(0.98);
  });
});

describe('a simulated cluster', () => {
  test('loses rate when its sessions are spread over more instances, but only where they share an index block', () => {
    const at = (kind: 'sharded' | 'unsharded', instances: number) =>
      simulate({
        costs: clusterLike,
        workload: workloadWith({ kind, instances, enqueuers: 8, dequeuers: 8 }),
        measureOperations: 40_000,
      }).dequeuePerSec;
    expect(at('sharded', 8) / at('sharded', 1)).toBeGreaterThan(0.95);
    expect(at('unsharded', 8) / at('unsharded', 1)).toBeLessThan(0.7);
  });

  test('pauses enqueuers that are faster than dequeuers at the bound of the backlog', () => {
    const { enqueuePerSec, dequeuePerSec, messages, timeShare } = simulate({
      costs: costsWith({ sharded: { dequeueUs: 20 } }, nodeLike),
      workload: workloadWith({ enqueuers: 8, dequeuers: 1, backlogMax: 500 }),
    });
    expect(timeShare['flow control']).toBeGreaterThan(0.3);
    expect(enqueuePerSec / dequeuePerSec).toBeCloseTo(1, 1);
    expect(messages.ready + messages.held).toBeLessThan(500 + 9 * 10);
  });

  test('forwards messages only if enqueuers and dequeuers are on different instances', () => {
    const run = (placement: 'even' | 'separate') =>
      simulate({
        costs: nodeLike,
        workload: workloadWith({ instances: 2, placement }),
        measureOperations: 50_000,
      });
    expect(run('even').messages.forwarded).toBe(0);
    const separate = run('separate');
    expect(separate.messages.forwarded).toBeGreaterThan(20_000);
    expect(separate.dequeuePerSecByInstance[0]).toBe(0);
    expect(separate.dequeuePerSec).toBeGreaterThan(0);
  });

  test('gives each subscriber of a topic each message, and stores it once', () => {
    const { enqueuePerSec, dequeuePerSec } = simulate({
      costs: clusterLike,
      workload: workloadWith({ instances: 4, enqueuers: 4, dequeuers: 40, subscribers: 10 }),
    });
    expect(dequeuePerSec / enqueuePerSec).toBeGreaterThan(9);
    expect(dequeuePerSec / enqueuePerSec).toBeLessThan(10.5);
  });

  test('needs no writer for nonpersistent messages and no sync for relaxed ones', () => {
    const at = (durability: 'durable' | 'relaxed' | 'memory') =>
      simulate({ costs: nodeLike, workload: workloadWith({ durability }), measureOperations: 50_000 });
    expect(at('memory').use.writerThread).toBe(0);
    expect(at('relaxed').dequeuePerSec).toBeGreaterThan(at('durable').dequeuePerSec);
    expect(at('memory').dequeuePerSec).toBeGreaterThan(at('relaxed').dequeuePerSec);
  });

  test('ends as stalled if a bounded backlog is full and nobody dequeues', () => {
    const result = simulate({ costs: nodeLike, workload: workloadWith({ dequeuers: 0, backlogMax: 200 }) });
    expect(result.ended).toBe('stalled');
    expect(result.messages.enqueued).toBeGreaterThanOrEqual(200);
  });

  test('refuses a workload with a value out of bounds and names the value', () => {
    for (const [changes, name] of [
      [{ instances: 0 }, 'instances'],
      [{ enqueuers: 0, dequeuers: 0 }, 'enqueuers + dequeuers'],
      [{ operationsPerTransaction: 1.5 }, 'operationsPerTransaction'],
      [{ subscribers: 5000 }, 'subscribers'],
      [{ placement: 'separate' as const }, 'separate'],
    ] as const) {
      expect(() => simulate({ costs: nodeLike, workload: workloadWith(changes) })).toThrow(name);
    }
  });
});

describe('a simulation in steps', () => {
  test('pauses about once every thousand operations, and has the same result as without pauses', () => {
    const options = {
      costs: nodeLike,
      workload: workloadWith({}),
      warmupOperations: 2_000,
      measureOperations: 8_000,
    };
    const steps = simulateInSteps(options);
    let pauses = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) pauses += 1;
    expect(step.value).toEqual(simulate(options));
    expect(pauses).toBeGreaterThanOrEqual(7);
    expect(pauses).toBeLessThanOrEqual(10);
  });

  test('also pauses if a time ends it', () => {
    const phases = { warmupMs: 20, measureMs: 100 };
    const steps = simulateInSteps({ costs: nodeLike, workload: workloadWith({}), phases });
    expect(steps.next().done).toBe(false);
  });
});
