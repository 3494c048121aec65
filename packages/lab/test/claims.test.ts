/** Each judge on points that make its claim hold and on points that make it fail, so that no verdict is the only possible one. */
import type { Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { five, type PointFacts, point, withGrouped } from './support.ts';

const judge = (id: string, points: readonly Point[], cores = 2) =>
  bundledStudies.judge([id], points, { cores })[0]!;
/** The verdict of the clause whose statement contains the words. */
const clause = (id: string, points: readonly Point[], words: string, cores = 2) =>
  judge(id, points, cores).clauses.find(({ statement }) => statement.includes(words))?.verdict;

/** Points for all combinations of threads and instances, whose rates `law` gives. */
function grid(options: {
  law: (threads: number, instances: number) => number;
  threads?: number[];
  instances?: number[];
  facts?: Omit<PointFacts, 'deq'>;
}): Point[] {
  const { law, threads = [1, 4, 16, 32], instances = [1, 2, 4], facts = {} } = options;
  return instances.flatMap((n) =>
    threads.map((t) => point({ repeats: five, ...facts, instances: n, threads: t, deq: law(t, n) })),
  );
}

test('without points every claim is inconclusive and says what it needs', () => {
  for (const { id } of bundledStudies.claims) {
    expect(judge(id, [])).toMatchObject({
      id,
      verdict: 'inconclusive',
      value: null,
      interval: null,
      reason: expect.stringContaining('Needs'),
    });
  }
});

test('a verdict distinguishes repeats that were not steady from those that other work disturbed', () => {
  const judged = (notSteady: number, disturbed: number) => {
    const conditions = { notSteady, disturbed, measuredAgain: 0 };
    return judge('A1', [point({ deq: 1_000 }), { ...point({ threads: 2, deq: 2_000 }), conditions }]);
  };
  expect(judged(0, 0)).toMatchObject({ notSteady: false, disturbed: false });
  expect(judged(2, 0)).toMatchObject({ notSteady: true, disturbed: false });
  expect(judged(0, 1)).toMatchObject({ notSteady: false, disturbed: true });
});

test('points with lost messages prove nothing', () => {
  const points = [...grid({ law: (t) => 1000 * t }), point({ deq: 80_000, lost: 1 })];
  // Claims about integrity are excepted: B4, W7 and W8 are refuted by lost messages, not left open.
  for (const { id } of bundledStudies.claims.filter((claim) => claim.aboutIntegrity !== true)) {
    expect(judge(id, points)).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('lost'),
    });
  }
});

describe('A1, a straight line without regression', () => {
  const law = (t: number) => 700 * t ** 0.9;

  test('holds on a straight line, with the slope and its interval', () => {
    const result = judge('A1', grid({ law }));
    expect(result).toMatchObject({
      verdict: 'holds',
      value: 0.9,
      unit: 'log-log slope',
      repeats: 5,
      provisional: false,
    });
    expect(result.interval![0]).toBeCloseTo(0.9, 2);
  });

  test('from one repeat it is provisional', () => {
    const faster = (t: number, n: number) => law(t) * n ** 0.2;
    expect(judge('A1', grid({ law: faster, facts: { repeats: [1] } }))).toMatchObject({
      verdict: 'holds',
      interval: null,
      provisional: true,
      repeats: 1,
    });
  });

  test('does not hold where the rate saturates, where the line is too flat, or where instances cost a third', () => {
    const saturated = grid({ law: (t) => Math.min(1000 * t, 9000) });
    expect(clause('A1', saturated, 'straight line')).toBe('does-not-hold');
    expect(clause('A1', grid({ law: (t) => 5000 * t ** 0.4 }), 'rises')).toBe('does-not-hold');
    const worse = judge('A1', grid({ law: (t, n) => law(t) / (n === 4 ? 1.5 : 1) }));
    expect(worse).toMatchObject({
      verdict: 'does-not-hold',
      value: 0.67,
      reason: expect.stringContaining('falls by 33 % from 2 to 4'),
    });
  });

  test('a slope whose repeats reach over the bar is inconclusive', () => {
    const unsteady = [1, 4, 16, 32].flatMap((threads) =>
      [1, 2].map((instances) =>
        point({
          instances,
          threads,
          deq: 700 * threads ** 0.72,
          repeats: [-0.1, 0.1, 0, 0.12, -0.12].map((more) => threads ** more),
        }),
      ),
    );
    expect(clause('A1', unsteady, 'rises')).toBe('inconclusive');
  });

  test('is judged for each condition by itself, and mixed if one holds and another fails', () => {
    const emulated = grid({ law, facts: { roundTripMs: 1 } });
    const asItIs = grid({ law: (t, n) => (law(t) * 20) / (n === 4 ? 3.8 : 1) });
    const result = judge('A1', [...emulated, ...asItIs]);
    expect(result).toMatchObject({ verdict: 'mixed', value: 0.26, provenance: 'emulated' });
    expect(result.reason).toMatch(
      /^With a 1 ms round trip, emulated: holds\. .* As it is: does not hold\. .*74 % from 2 to 4/,
    );
  });

  test('threads × the one-thread rate is not comparable if sessions mostly wait for their clients', () => {
    const client = { event: 'client round trip', class: 'network' as const, emulated: true };
    const paced = [1, 2].flatMap((instances) =>
      [1, 4, 16, 32].map((threads) =>
        point({
          instances,
          threads,
          roundTripMs: 1,
          deq: 800 * threads,
          repeats: five,
          waits: [{ ...client, totalMs: 1_700 * threads }, { totalMs: 200 * threads }],
        }),
      ),
    );
    expect(judge('A1', paced)).toMatchObject({
      verdict: 'not-comparable',
      reason: expect.stringContaining('a queue that does nothing would draw this line too'),
    });
  });

  test('is inconclusive without enough threads or instances, and ignores threads past 32', () => {
    expect(judge('A1', grid({ law, instances: [1] })).verdict).toBe('inconclusive');
    const past = grid({ law: (t) => law(Math.min(t, 32)), threads: [1, 8, 32, 256] });
    expect(judge('A1', past).verdict).toBe('holds');
  });
});

describe('A2, 76,000 dequeues a second', () => {
  const at = (deq: number, facts: Partial<PointFacts> = {}) => [
    point({ threads: 16, repeats: five, ...facts, deq }),
  ];

  test('holds when it is reached and dequeuers keep up, with its interval', () => {
    const result = judge('A2', [...at(50_000), ...at(90_000)]);
    expect(result).toMatchObject({ verdict: 'holds', value: 90_000 });
    expect(result.interval![0]).toBeGreaterThan(89_000);
    expect(result.reason).toContain('2 cores');
    expect(judge('A2', at(90_000, { enq: 120_000 })).verdict).toBe('does-not-hold');
  });

  test('is inconclusive if the interval contains it', () => {
    expect(judge('A2', at(78_000, { repeats: [0.9, 1.1, 1, 0.95, 1.05] })).verdict).toBe('inconclusive');
  });

  test('is not comparable below it on lesser hardware, and does not hold on as much hardware', () => {
    expect(judge('A2', at(40_000))).toMatchObject({ verdict: 'not-comparable', value: 40_000 });
    expect(judge('A2', at(40_000), 192).verdict).toBe('does-not-hold');
  });

  test('ignores unsharded points and large batches; remote sessions are a condition of their own', () => {
    expect(judge('A2', at(100_000, { system: 'unsharded' })).verdict).toBe('inconclusive');
    expect(judge('A2', at(100_000, { operations: 1_000 })).verdict).toBe('inconclusive');
    const remote = at(100_000).map((each) => ({ ...each, params: { ...each.params, sessions: 'remote' } }));
    expect(judge('A2', [...at(90_000), ...remote]).clauses.map(({ condition }) => condition)).toContain(
      'remote sessions',
    );
    const conditions = judge('A2', [...at(90_000), ...at(80_000, { operations: 1 })]).clauses.map(
      ({ condition }) => condition,
    );
    expect(new Set(conditions)).toEqual(
      new Set(['embedded sessions', 'embedded sessions, one message per transaction']),
    );
  });
});

describe('A3, dequeuers keep up', () => {
  test('holds when each point dequeues what is enqueued', () => {
    expect(judge('A3', grid({ law: (t) => 1000 * t }))).toMatchObject({ verdict: 'holds', value: 1 });
  });

  test('does not hold when one point falls behind', () => {
    const points = [
      ...grid({ law: (t) => 1000 * t }),
      point({ threads: 8, enq: 10_000, deq: 8_000, repeats: five }),
    ];
    expect(judge('A3', points)).toMatchObject({ verdict: 'does-not-hold', value: 0.8, interval: [0.8, 0.8] });
  });

  test('is inconclusive if messages under way at the edges of the window explain the difference', () => {
    const slow = point({ threads: 32, enq: 1_000, deq: 750, repeats: five });
    expect(judge('A3', [...grid({ law: (t) => 1000 * t }), slow])).toMatchObject({
      verdict: 'inconclusive',
      value: 0.75,
      reason: expect.stringContaining('edges of the window'),
    });
  });

  test('does not hold if rates are equal only because enqueuers were paused', () => {
    const waits = [
      { event: 'flow control', class: 'configuration' as const, totalMs: 600 },
      { totalMs: 2_000 },
    ];
    const held = point({ threads: 2, deq: 5_000, repeats: five, waits });
    expect(judge('A3', [point({ deq: 5_000, repeats: five }), held])).toMatchObject({
      verdict: 'does-not-hold',
      value: 0.7,
    });
  });

  test('is not comparable if sessions mostly wait for messages and put no load on the queue', () => {
    const idle = { event: 'waiting for messages', class: 'idle' as const };
    const points = [1, 4].map((threads) =>
      point({ threads, deq: 500 * threads, repeats: five, waits: [{ ...idle, totalMs: 1_500 * threads }] }),
    );
    expect(judge('A3', points).verdict).toBe('not-comparable');
  });

  test('ignores points past 76,000, about which it says nothing', () => {
    const past = point({ threads: 32, enq: 200_000, deq: 100_000, repeats: five });
    expect(judge('A3', [...grid({ law: (t) => 1000 * t }), past]).verdict).toBe('holds');
  });
});

describe('A4, unsharded gains little', () => {
  const shardedLine = grid({ law: (t) => 1000 * t });
  const against = (law: (t: number, n: number) => number, system = 'unsharded') => [
    ...shardedLine,
    ...grid({ law, facts: { system } }),
  ];

  test('holds when threads and instances gain little, and the sharded queue more', () => {
    expect(
      judge(
        'A4',
        against((t) => 4000 * t ** 0.1),
      ),
    ).toMatchObject({ verdict: 'holds', value: 1.41 });
  });

  test('does not hold at a gain of nine times, even if the sharded queue gains more', () => {
    expect(
      clause(
        'A4',
        against((t) => 400 * t ** 0.64),
        'little from threads',
      ),
    ).toBe('does-not-hold');
    expect(
      clause(
        'A4',
        against((t, n) => 4000 * t ** 0.1 * n ** 0.5),
        'little from instances',
      ),
    ).toBe('does-not-hold');
  });

  test('is judged for each baseline as a condition of its own', () => {
    const grouped = grid({ law: (t) => 900 * t, facts: { system: 'unsharded-grouped' } });
    const result = judge('A4', [...against((t) => 4000 * t ** 0.1), ...grouped]);
    expect(result.verdict).toBe('mixed');
    expect(new Set(result.clauses.map(({ condition }) => condition))).toEqual(
      new Set([
        'as it is, against unsharded (each session commits for itself)',
        'as it is, against unsharded-grouped (one writer commits for all)',
      ]),
    );
  });
});

describe('A5, unsharded is best on one instance', () => {
  const lock = { event: 'write lock', class: 'concurrency' as const, totalMs: 500 };
  const waiting = (law: (t: number, n: number) => number, facts: Partial<PointFacts> = {}) =>
    grid({ law, facts: { system: 'unsharded', waits: [lock], cpuUs: 140, lockElsewhere: 0.7, ...facts } });
  const slower = (t: number, n: number) => (7000 + t) / n;

  test('holds when several are slower and wait for the lock, and one is below 8,000 with its CPU busy', () => {
    const result = judge('A5', withGrouped(waiting(slower)));
    expect(result).toMatchObject({ verdict: 'holds', value: 2 });
    expect(result.clauses.map(({ verdict }) => verdict)).toEqual(Array(9).fill('holds'));
    expect(judge('A5', waiting(slower)).verdict).toBe('inconclusive');
  });

  test('tells waits for sessions of other instances from those for sessions of the same one', () => {
    const own = waiting(slower, { lockElsewhere: 0.2 });
    expect(clause('A5', own, 'of other instances')).toBe('does-not-hold');
    const { lockElsewhere: _untold, ...before } = {
      system: 'unsharded',
      waits: [lock],
      cpuUs: 140,
      lockElsewhere: 0,
    };
    const result = judge('A5', withGrouped(grid({ law: slower, facts: before })));
    expect(result).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('And mostly for those of other instances: Not measured'),
    });
    // The sessions of a grouped queue wait for a group, since one writer commits for all processes.
    const ofGrouped = result.clauses.filter(({ condition }) => condition!.includes('unsharded-grouped'));
    expect(ofGrouped.map(({ verdict }) => verdict)).toEqual(Array(4).fill('holds'));
  });

  test('does not hold if one of its clauses does not', () => {
    expect(
      clause(
        'A5',
        waiting((_t, n) => 3000 * n, { cpuUs: 80 }),
        'slower than one',
      ),
    ).toBe('does-not-hold');
    const disk = waiting(slower, { waits: [{ totalMs: 900 }] });
    expect(clause('A5', disk, 'wait for each other')).toBe('does-not-hold');
    expect(
      clause(
        'A5',
        waiting((t, n) => 2 * slower(t, n), { cpuUs: 70 }),
        'below 8,000',
      ),
    ).toBe('does-not-hold');
    expect(clause('A5', waiting(slower, { cpuUs: 70 }), 'CPU is the limit')).toBe('does-not-hold');
  });

  test('does not count instances without a thread', () => {
    const idle = grid({ law: () => 6000, threads: [1, 2], instances: [4], facts: { system: 'unsharded' } });
    expect(judge('A5', [...idle, point({ system: 'unsharded', deq: 5000 })]).verdict).toBe('inconclusive');
  });
});

describe('A6, unsharded dequeues fall behind', () => {
  const unshardedAt = (ratio: number, instances = 1) =>
    [1, 4, 16, 32].map((threads) =>
      point({ system: 'unsharded', instances, threads, enq: 8000, deq: 8000 * ratio, repeats: five }),
    );
  const line = grid({ law: (t) => 1000 * t, instances: [1] });

  test('holds when they do and sharded enqueue scales like dequeue', () => {
    expect(judge('A6', [...line, ...unshardedAt(0.6)])).toMatchObject({ verdict: 'holds', value: 0.6 });
  });

  test('does not hold when unsharded keeps up', () => {
    expect(clause('A6', [...line, ...unshardedAt(1)], 'unsharded dequeues fall behind')).toBe(
      'does-not-hold',
    );
  });

  test('is judged for each number of instances by itself', () => {
    const two = grid({ law: (t) => 1000 * t, instances: [2] });
    const result = judge('A6', [...line, ...unshardedAt(1), ...two, ...unshardedAt(0.67, 2)]);
    expect(result.verdict).toBe('mixed');
    expect(result.reason).toContain(
      'As it is, 2 instances, against unsharded (each session commits for itself): holds',
    );
  });

  test('does not hold when sharded enqueue runs ahead of dequeue', () => {
    const diverging = [1, 4, 16, 32].map((threads) =>
      point({ threads, enq: 1000 * threads, deq: 1000 * threads ** 0.5, repeats: five }),
    );
    expect(clause('A6', [...diverging, ...unshardedAt(0.6)], 'like the dequeue rate')).toBe('does-not-hold');
  });
});
