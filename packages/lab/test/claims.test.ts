/** Each judge on points that make its claim hold and on points that make it fail, so that no verdict is a given. */
import type { Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { type PointFacts, point } from './support.ts';

const judge = (id: string, points: readonly Point[], cores = 2) =>
  bundledStudies.judge([id], points, { cores })[0]!;

/** Points over threads and instances by a law of the rate. */
function grid(options: {
  law: (threads: number, instances: number) => number;
  threads?: number[];
  instances?: number[];
  facts?: Omit<PointFacts, 'deq'>;
}): Point[] {
  const { law, threads = [1, 4, 16, 32], instances = [1, 2, 4], facts = {} } = options;
  return instances.flatMap((n) =>
    threads.map((t) => point({ ...facts, instances: n, threads: t, deq: law(t, n) })),
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

test('points with lost messages prove nothing', () => {
  const points = [...grid({ law: (t) => 1000 * t }), point({ deq: 80_000, lost: 1 })];
  // Whether a failover or a conversion loses any is what W7 and W8 are about.
  for (const { id } of bundledStudies.claims.filter((claim) => !['W7', 'W8'].includes(claim.id))) {
    expect(judge(id, points)).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('lost'),
    });
  }
});

describe('A1, a straight line without regression', () => {
  const line = grid({ law: (t) => 700 * t ** 0.97, facts: { roundTripMs: 1 } });

  test('holds on a straight line, with the slope and its interval', () => {
    const result = judge('A1', line);
    expect(result).toMatchObject({ verdict: 'holds', value: 0.97, unit: 'log-log slope' });
    expect(result.interval![0]).toBeCloseTo(0.97, 2);
  });

  test('does not hold where the rate saturates', () => {
    const bent = grid({ law: (t) => Math.min(1000 * t, 9000), facts: { roundTripMs: 1 } });
    expect(judge('A1', bent)).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('deviate from their line'),
    });
  });

  test('does not hold where the line is too flat', () => {
    const flat = grid({ law: (t) => 5000 * t ** 0.4, facts: { roundTripMs: 1 } });
    expect(judge('A1', flat)).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('less than 0.7'),
    });
  });

  test('does not hold where added instances cost a third', () => {
    const worse = grid({ law: (t, n) => (700 * t) / (n === 4 ? 1.5 : 1), facts: { roundTripMs: 1 } });
    expect(judge('A1', worse)).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('33 % from 2 to 4 at'),
    });
  });

  test('a loss of a fifth is inconclusive from one repeat and a regression if the repeats agree', () => {
    const law = (t: number, n: number) => (700 * t) / (n === 4 ? 1.22 : 1);
    const once = grid({ law, facts: { roundTripMs: 1 } });
    expect(judge('A1', once)).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('noise'),
    });
    const thrice = grid({ law, facts: { roundTripMs: 1, repeats: [0.99, 1, 1.01] } });
    expect(judge('A1', thrice).verdict).toBe('does-not-hold');
  });

  test('is judged on the emulated points and reports those as they are', () => {
    const saturated = grid({ law: (t) => 40_000 * t ** 0.3 });
    const result = judge('A1', [...line, ...saturated]);
    expect(result.verdict).toBe('holds');
    expect(result.reason).toContain('For comparison, without a round trip: slope 0.3');
  });

  test('is inconclusive while the emulated points are too few, whatever the others show', () => {
    const early = [...grid({ law: (t) => 1000 * t }), point({ roundTripMs: 1, deq: 700 })];
    expect(judge('A1', early).verdict).toBe('inconclusive');
    expect(judge('A1', grid({ law: (t) => 1000 * t, instances: [1] })).verdict).toBe('inconclusive');
  });

  test('leaves threads past 32 out', () => {
    const past = grid({
      law: (t) => Math.min(700 * t, 700 * 32),
      threads: [1, 8, 32, 256],
      facts: { roundTripMs: 1 },
    });
    expect(judge('A1', past).verdict).toBe('holds');
  });
});

describe('A2, 76,000 dequeues a second', () => {
  test('holds when it is reached, and says on what', () => {
    const result = judge('A2', [
      point({ deq: 50_000 }),
      point({ deq: 90_000, threads: 16, repeats: [0.9, 1, 1.1] }),
    ]);
    expect(result).toMatchObject({ verdict: 'holds', value: 90_000, interval: [81_000, 99_000] });
    expect(result.reason).toContain('2 cores');
  });

  test('cannot be judged below it on lesser hardware, and fails on as much', () => {
    expect(judge('A2', [point({ deq: 40_000 })])).toMatchObject({
      verdict: 'not-comparable',
      value: 40_000,
      interval: null,
    });
    expect(judge('A2', [point({ deq: 40_000 })], 192).verdict).toBe('does-not-hold');
  });

  test('unsharded points do not count', () => {
    expect(judge('A2', [point({ system: 'unsharded', deq: 100_000 })]).verdict).toBe('inconclusive');
  });
});

describe('A3, dequeuers keep up', () => {
  test('holds when each point dequeues what is enqueued', () => {
    expect(judge('A3', grid({ law: (t) => 1000 * t }))).toMatchObject({ verdict: 'holds', value: 1 });
  });

  test('does not hold when one point falls behind', () => {
    const points = [
      ...grid({ law: (t) => 1000 * t }),
      point({ threads: 8, enq: 10_000, deq: 8_000, repeats: [1, 1.1, 0.9] }),
    ];
    expect(judge('A3', points)).toMatchObject({ verdict: 'does-not-hold', value: 0.8, interval: [0.8, 0.8] });
  });

  test('so few messages that those under way at the edges explain it decide nothing', () => {
    const slow = point({ threads: 32, enq: 1_000, deq: 750 });
    expect(judge('A3', [...grid({ law: (t) => 1000 * t }), slow])).toMatchObject({
      verdict: 'inconclusive',
      value: 0.75,
      reason: expect.stringContaining('edges of the window'),
    });
  });

  test('equal rates by holding enqueuers back are not keeping up', () => {
    const held = point({ threads: 2, deq: 5_000, waits: [{ event: 'flow control', totalMs: 600 }] });
    expect(judge('A3', [point({ deq: 5_000 }), held])).toMatchObject({
      verdict: 'does-not-hold',
      value: 0.7,
      reason: expect.stringContaining('paused 30 %'),
    });
  });

  test('points past 76,000 are beyond the claim', () => {
    const past = point({ threads: 32, enq: 200_000, deq: 100_000 });
    expect(judge('A3', [...grid({ law: (t) => 1000 * t }), past]).verdict).toBe('holds');
  });
});

describe('A4, unsharded gains little', () => {
  const shardedLine = grid({ law: (t) => 1000 * t });

  test('holds when it gains less than half of what sharded gains', () => {
    const flat = grid({ law: (t) => 4000 * t ** 0.1, facts: { system: 'unsharded' } });
    expect(judge('A4', [...shardedLine, ...flat])).toMatchObject({ verdict: 'holds', value: 0.04 });
  });

  test('does not hold when it scales as well', () => {
    const steep = grid({ law: (t) => 800 * t, facts: { system: 'unsharded' } });
    expect(judge('A4', [...shardedLine, ...steep])).toMatchObject({ verdict: 'does-not-hold', value: 1 });
  });

  test('near half of it one repeat decides nothing, and three that agree do', () => {
    const half = (repeats: number[]) => [
      ...grid({ law: (t) => 1000 * t, facts: { repeats } }),
      ...grid({ law: (t) => 1000 * (1 + (t - 1) * 0.42), facts: { system: 'unsharded', repeats } }),
    ];
    expect(judge('A4', half([1]))).toMatchObject({ verdict: 'inconclusive', value: 0.44, interval: null });
    expect(judge('A4', half([0.99, 1, 1.01]))).toMatchObject({ verdict: 'holds', interval: [0.44, 0.44] });
  });
});

describe('A5, unsharded is best on one instance', () => {
  const facts = {
    system: 'unsharded',
    waits: [{ event: 'write lock', class: 'concurrency', totalMs: 500 }],
  } as const;
  const waiting = (law: (t: number, n: number) => number, more: Partial<PointFacts> = {}) =>
    grid({ law, facts: { ...facts, waits: [...facts.waits], ...more } });

  test('holds when several are slower and wait for the lock', () => {
    const result = judge(
      'A5',
      waiting((t, n) => (6000 + t) / n),
    );
    expect(result).toMatchObject({ verdict: 'holds', value: 2 });
    expect(result.reason).toContain('"write lock"');
  });

  test('does not hold when several are faster', () => {
    expect(
      judge(
        'A5',
        waiting((_t, n) => 3000 * n),
      ).verdict,
    ).toBe('does-not-hold');
  });

  test('does not hold when several are slower for another reason', () => {
    const disk = waiting((_t, n) => 6000 / n, {
      waits: [{ event: 'log file sync', class: 'commit', totalMs: 900 }],
    });
    expect(judge('A5', disk)).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('do not wait for each other'),
    });
  });

  test('is inconclusive when the repeats overlap', () => {
    const one = point({ ...facts, waits: [...facts.waits], threads: 4, deq: 6000, repeats: [0.8, 1, 1.2] });
    const two = point({
      ...facts,
      waits: [...facts.waits],
      threads: 8,
      instances: 2,
      deq: 5900,
      repeats: [1.2, 1, 0.8],
    });
    expect(judge('A5', [one, two])).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('contains 1'),
    });
  });

  test('is inconclusive when single repeats are near each other', () => {
    expect(
      judge(
        'A5',
        waiting((_t, n) => (n === 1 ? 6000 : 6300)),
      ),
    ).toMatchObject({ verdict: 'inconclusive' });
  });

  test('an instance without a thread does not make several', () => {
    const idle = grid({
      law: () => 6000,
      threads: [1, 2],
      instances: [4],
      facts: { ...facts, waits: [...facts.waits] },
    });
    expect(judge('A5', [...idle, point({ ...facts, waits: [...facts.waits], deq: 5000 })]).verdict).toBe(
      'inconclusive',
    );
  });
});

describe('A6, unsharded dequeues fall behind', () => {
  const unshardedAt = (ratio: number) =>
    [1, 4, 16, 32].map((threads) => point({ system: 'unsharded', threads, enq: 8000, deq: 8000 * ratio }));

  test('holds when they do and sharded enqueue scales like dequeue', () => {
    expect(judge('A6', [...grid({ law: (t) => 1000 * t }), ...unshardedAt(0.6)])).toMatchObject({
      verdict: 'holds',
      value: 0.6,
    });
  });

  test('does not hold when unsharded keeps up', () => {
    expect(judge('A6', [...grid({ law: (t) => 1000 * t }), ...unshardedAt(1)])).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('do not fall behind'),
    });
  });

  test('does not hold when sharded enqueue runs ahead of dequeue', () => {
    const diverging = [1, 4, 16, 32].map((threads) =>
      point({ threads, enq: 1000 * threads, deq: 1000 * threads ** 0.5 }),
    );
    expect(judge('A6', [...diverging, ...unshardedAt(0.6)])).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('scale differently'),
    });
  });
});
