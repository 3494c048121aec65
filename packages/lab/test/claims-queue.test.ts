/** A7 to A11 on points that make each claim hold and on points that make it fail. */
import type { Params, Point, WaitSummary } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { five, type PointFacts, point, withGrouped } from './support.ts';

const judge = (id: string, points: readonly Point[], cores = 2) =>
  bundledStudies.judge([id], points, { cores })[0]!;
const clause = (id: string, points: readonly Point[], words: string, cores = 2) =>
  judge(id, points, cores).clauses.find(({ statement }) => statement.includes(words))?.verdict;
const withParams = (made: Point, params: Params): Point => ({
  ...made,
  params: { ...made.params, ...params },
});

describe('A7, four times as many dequeues per CPU', () => {
  /** Points with these CPU times of a message, in µs, at 1 and at 32 threads, on one and on two instances. */
  const pairs = (
    sharded: [number, number],
    unsharded: [number, number],
    system = 'unsharded',
    repeats = five,
  ) =>
    [1, 2].flatMap((instances) =>
      [1, 32].flatMap((threads, load) => [
        point({ instances, threads, deq: 20_000, cpuUs: sharded[load]!, repeats }),
        point({ system, instances, threads, deq: 5_000, cpuUs: unsharded[load]!, repeats }),
      ]),
    );

  test('holds if it is six times under load and less with one thread', () => {
    const both = withGrouped(pairs([20, 10], [60, 60]));
    expect(judge('A7', both)).toMatchObject({ verdict: 'holds', value: 6 });
  });

  test('is inconclusive against one baseline alone, and names the other as not measured', () => {
    expect(judge('A7', pairs([20, 10], [60, 60]))).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining(
        'against unsharded-grouped (one writer commits for all): inconclusive. Not measured',
      ),
    });
  });

  test('does not hold if it is only twice, or becomes less under load', () => {
    expect(judge('A7', pairs([40, 30], [60, 60]))).toMatchObject({ verdict: 'does-not-hold', value: 2 });
    expect(clause('A7', pairs([5, 10], [60, 60]), 'higher load')).toBe('does-not-hold');
  });

  test('is judged at the largest common number of threads up to 32, by the lowest ratio of any number of instances', () => {
    const past = [
      point({ threads: 64, deq: 20_000, cpuUs: 1, repeats: five }),
      point({ system: 'unsharded', threads: 64, deq: 5_000, cpuUs: 100, repeats: five }),
    ];
    expect(judge('A7', withGrouped([...pairs([20, 10], [60, 60]), ...past])).value).toBe(6);
    const apart = [point({ threads: 8, deq: 1 }), point({ system: 'unsharded', threads: 16, deq: 1 })];
    expect(judge('A7', apart)).toMatchObject({ verdict: 'inconclusive', value: null });
  });

  test('is mixed if it holds against one baseline and not against the grouped one', () => {
    const grouped = pairs([20, 10], [20, 12], 'unsharded-grouped').filter(
      ({ system }) => system !== 'sharded',
    );
    expect(judge('A7', [...pairs([20, 10], [60, 60]), ...grouped])).toMatchObject({
      verdict: 'mixed',
      value: 1.2,
      reason: expect.stringContaining(
        'As it is, against unsharded-grouped (one writer commits for all): does not hold',
      ),
    });
    const [first] = judge('A7', [...pairs([20, 10], [60, 60]), ...grouped]).clauses;
    expect(first!.reason).toContain('Of the factor 6, group commit gives 5 and sharding 1.2.');
  });

  test('is inconclusive if 4.7 was measured once, or if repeats are on both sides of the bar', () => {
    const once = pairs([20, 10], [47, 47], 'unsharded', [1]);
    expect(clause('A7', once, 'four times')).toBe('inconclusive');
    const spread = [1, 32].flatMap((threads) => [
      point({ threads, deq: 20_000, cpuUs: [10, 15, 8, 9, 12], repeats: five }),
      point({ system: 'unsharded', threads, deq: 5_000, cpuUs: [50, 40, 60, 45, 44], repeats: five }),
    ]);
    expect(clause('A7', spread, 'four times')).toBe('inconclusive');
  });
});

describe('A8, work is spread evenly', () => {
  const facts = { instances: 2, threads: 4, deq: 1_000, repeats: five };
  const skewed = (shares: number[], changes: Partial<PointFacts> = {}) =>
    withParams(point({ ...facts, shares, ...changes }), { placement: 'skewed' });

  test('is not comparable if sessions are placed evenly, since any queue spreads them evenly then', () => {
    expect(judge('A8', [point(facts)])).toMatchObject({ verdict: 'not-comparable', value: null });
    const uneven = judge('A8', [point({ ...facts, shares: [0.65, 0.35] })]);
    expect(uneven.reason).toContain('reaches 0.7 of the mean rate');
    expect(judge('A8', [point({ ...facts, threads: 3 })]).verdict).toBe('inconclusive');
  });

  test('holds if three of four threads are on one instance and all threads dequeue at the same rate', () => {
    const points = [point(facts), skewed([0.75, 0.25]), skewed([0.5, 0.5], { system: 'unsharded' })];
    const result = judge('A8', points);
    expect(result).toMatchObject({ verdict: 'holds', value: 1 });
    expect(result.reason).toContain('Instances have 3 and 1 threads');
    expect(result.reason).toContain('That share is 0.67 with unsharded.');
  });

  test('does not hold if instances get equal turns, nor if the smaller one starves', () => {
    expect(judge('A8', [skewed([0.5, 0.5])])).toMatchObject({ verdict: 'does-not-hold', value: 0.67 });
    expect(judge('A8', [skewed([0.9, 0.1])])).toMatchObject({ verdict: 'does-not-hold', value: 0.4 });
  });

  test('is not comparable if clients set the pace, or all cores are busy', () => {
    const idle = { event: 'waiting for messages', class: 'idle' as const, totalMs: 8_000 };
    expect(judge('A8', [skewed([0.75, 0.25], { waits: [idle] })]).reason).toContain('clients set the pace');
    const full = skewed([0.5, 0.5], { deq: 100_000, cpuUs: 19 });
    expect(judge('A8', [full])).toMatchObject({
      verdict: 'not-comparable',
      reason: expect.stringContaining('1.9 of 2 cores are busy'),
    });
  });
});

describe('A9, a dequeue under a millisecond', () => {
  const at = (callMs: number[], p99Ms = callMs) =>
    [4, 16, 32].map((threads) => {
      const made = point({ threads, deq: 1_000, callMs, repeats: five });
      const dequeueCallP99Ms = { ...made.figures.dequeueCallP99Ms!, repeats: p99Ms };
      return { ...made, figures: { ...made.figures, dequeueCallP99Ms } };
    });
  const tenth = [0.1, 0.11, 0.12, 0.1, 0.11];
  const three = [3, 2.8, 3.1, 3, 2.9];

  test('holds at 0.1 ms, and says what was not measured', () => {
    const result = judge('A9', at(tenth));
    expect(result).toMatchObject({ verdict: 'holds', value: 0.108 });
    expect(
      result.clauses.filter(({ verdict }) => verdict === 'not-comparable').map(({ condition }) => condition),
    ).toEqual(['remote sessions', 'open loop, embedded sessions', 'open loop, remote sessions']);
    expect(result.weak).toContain('memory of its own process');
  });

  test('does not hold at 3 ms, or if one in a hundred takes 3 ms', () => {
    expect(judge('A9', at(three)).verdict).toBe('does-not-hold');
    expect(judge('A9', at(tenth, three)).verdict).toBe('does-not-hold');
  });

  test('is inconclusive around 1 ms', () => {
    expect(judge('A9', at([0.9, 1.2, 0.8, 1.1, 1])).verdict).toBe('inconclusive');
  });

  test('is judged for remote sessions as a condition of its own', () => {
    const remote = at(three).map((each) => withParams(each, { sessions: 'remote' }));
    expect(judge('A9', [...at(tenth), ...remote])).toMatchObject({ verdict: 'mixed', value: 2.958 });
    const one = point({ threads: 32, operations: 1, deq: 1_000, callMs: three, repeats: five });
    expect(judge('A9', [...at(tenth), withParams(one, { sessions: 'remote' })]).reason).toContain(
      'Remote sessions, one message per transaction: does not hold',
    );
  });

  describe('in an open loop', () => {
    const open = (times: number[], { p99 = times, rate = 1_000, system = 'sharded' } = {}): Point => {
      const figure = (repeats: number[]) => ({
        value: repeats[0] ?? 0,
        unit: '',
        provenance: 'measured' as const,
        repeats,
      });
      const latencies = times.length === 0 ? {} : { latencyP50Ms: figure(times), latencyP99Ms: figure(p99) };
      return {
        ...point({ system, deq: 1_000, repeats: five }),
        program: 'open-loop',
        params: { messagesPerSec: 1_000, payloadBytes: 512, operationsPerTransaction: 10 },
        figures: {
          ...latencies,
          offeredPerSec: figure(Array(5).fill(1_000)),
          dequeuePerSec: figure(five.map((share) => share * rate)),
        },
      };
    };

    test('is refuted by messages that arrive late after their intended send time, for embedded and remote sessions apart', () => {
      const result = judge('A9', [open(tenth, { p99: three }), open(three, { system: 'sharded-remote' })]);
      expect(result).toMatchObject({ verdict: 'does-not-hold' });
      expect(new Set(result.clauses.map(({ condition }) => condition))).toEqual(
        new Set(['open loop, embedded sessions', 'open loop, remote sessions']),
      );
      expect(result.reason).toContain('One point, at 1,000/s');
    });

    test('is not shown by short times alone', () => {
      expect(judge('A9', [open(tenth)])).toMatchObject({
        verdict: 'not-comparable',
        reason: expect.stringContaining('a short time does not show the claim'),
      });
      expect(judge('A9', [...at(tenth), open(tenth)]).verdict).toBe('holds');
    });

    test('does not hold if messages are not delivered at the rate at which they were to be sent', () => {
      expect(judge('A9', [open(tenth, { rate: 600 })]).verdict).toBe('does-not-hold');
    });

    test('is inconclusive without a steady repeat, or with a queue in memory', () => {
      expect(judge('A9', [open([])]).reason).toContain('the backlog was steady in no repeat');
      const [result] = bundledStudies.judge(['A9'], [open(three)], { cores: 2, fileSystem: 'tmpfs' });
      expect(result).toMatchObject({ verdict: 'inconclusive', reason: expect.stringContaining('tmpfs') });
    });
  });
});

describe('A10, limited by commits and partitions', () => {
  const commits = (share: number, threads: number) => ({ totalMs: 2_000 * share * threads });
  const points = ({
    gain,
    waits,
    cpuUs = 10,
  }: {
    gain: number;
    waits: (threads: number) => Partial<WaitSummary>[];
    cpuUs?: number;
  }) =>
    [4, 16].flatMap((threads) => {
      const facts = { threads, cpuUs, repeats: five };
      return [
        point({ ...facts, deq: 5_000 * threads ** 0.5, waits: waits(threads) }),
        withParams(point({ ...facts, deq: 5_000 * threads ** 0.5 * gain }), { durability: 'relaxed' }),
      ];
    });
  const reads = (totalMs: number) => ({ event: 'backlog read', class: 'configuration' as const, totalMs });

  test('holds if sessions wait for them, and become as much faster without them as these waits explain', () => {
    expect(judge('A10', points({ gain: 2, waits: (threads) => [commits(0.8, threads)] })).verdict).toBe(
      'holds',
    );
  });

  test('does not hold if sessions wait for something else, or are no faster without syncs', () => {
    const elsewhere = points({
      gain: 1.3,
      waits: (threads) => [commits(0.2, threads), reads(1_500 * threads)],
    });
    expect(clause('A10', elsewhere, 'wait mostly for')).toBe('does-not-hold');
    expect(clause('A10', points({ gain: 1, waits: (threads) => [commits(0.8, threads)] }), 'is faster')).toBe(
      'does-not-hold',
    );
  });

  test('does not hold if the gain is larger than these waits explain', () => {
    const more = points({ gain: 4, waits: (threads) => [commits(0.5, threads)] });
    expect(clause('A10', more, 'waits explain')).toBe('does-not-hold');
  });

  test('is not comparable if the CPU is full before', () => {
    const full = { gain: 1, waits: (threads: number) => [commits(0.8, threads)], cpuUs: 95 };
    expect(judge('A10', points(full)).verdict).toBe('not-comparable');
    expect(judge('A10', points(full), 64).verdict).toBe('does-not-hold');
  });

  test('is left open if only messages without syncs were seen to survive a kill', () => {
    const all = points({ gain: 2, waits: (threads) => [commits(0.8, threads)] });
    const killed = all.map((each) => {
      const durability = each.params.durability === 'relaxed' ? ('shown' as const) : ('not sampled' as const);
      return { ...each, integrity: { ...each.integrity, durability } };
    });
    expect(judge('A10', killed)).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('its durability is not shown'),
    });
  });

  test('needs points with two different times of a sync', () => {
    const durable = points({ gain: 2, waits: (threads) => [commits(0.8, threads)] }).filter(
      ({ params }) => params.durability === 'durable',
    );
    expect(judge('A10', durable)).toMatchObject({ verdict: 'inconclusive', value: null });
  });
});

describe('A11, large batches', () => {
  const partitions = { event: 'partition maintenance', class: 'configuration' as const, totalMs: 4_000 };
  const points = (facts: Partial<PointFacts> = {}, small = 50_000) => [
    point({
      threads: 4,
      operations: 1_000,
      deq: 95_000,
      waits: [partitions, { totalMs: 1_000 }],
      repeats: five,
      ...facts,
    }),
    point({ threads: 4, deq: small, repeats: five }),
  ];

  test('holds near the rate, if dequeuers keep up, batches gain, and partitions are the limit', () => {
    expect(judge('A11', points())).toMatchObject({ verdict: 'holds', value: 95_000 });
  });

  test('does not hold if one of its clauses does not', () => {
    expect(clause('A11', points({ enq: 200_000 }), 'keep up')).toBe('does-not-hold');
    expect(clause('A11', points({ waits: [{ totalMs: 5_000 }] }), 'partition maintenance')).toBe(
      'does-not-hold',
    );
    expect(clause('A11', points({}, 95_000), 'larger batches')).toBe('does-not-hold');
  });

  test('is not comparable at a lower rate on less hardware, and does not hold on as much hardware', () => {
    expect(judge('A11', points({ deq: 60_000 }), 2).verdict).toBe('not-comparable');
    expect(judge('A11', points({ deq: 60_000 }), 192).verdict).toBe('does-not-hold');
  });

  test('does not hold at a rate far above', () => {
    const result = judge('A11', points({ deq: 680_000, cpuUs: 2, waits: [partitions, { totalMs: 1_000 }] }));
    expect(result.verdict).toBe('does-not-hold');
    expect(result.reason).toContain('Needed: 90,000 to 110,000. A higher rate has another limit');
  });

  test('is not judged by small batches', () => {
    expect(judge('A11', points().slice(1))).toMatchObject({ verdict: 'inconclusive', value: null });
  });
});
