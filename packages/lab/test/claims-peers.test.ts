/** The judges of the project's targets, and which of them a system that keeps nothing would pass. */
import type { Figure, Params, Point, Scenario } from '@shardlab/contract';
import { bundledStudies, readScenarioFolder } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { impostors } from '../src/impostors/impostors.ts';
import { measure } from '../src/impostors/measure.ts';
import { five, type PointFacts, point as queuePoint } from './support.ts';

const study = bundledStudies.studies.find(({ id }) => id === 'peers')!;
const ids = study.claims.map(({ id }) => id);
const judge = (claims: readonly string[], points: readonly Point[]) =>
  bundledStudies.judge(claims, points, { cores: 2 });
const verdictOf = (id: string, points: readonly Point[]) => judge([id], points)[0]!;

const figure = (value: number): Figure => ({
  value,
  unit: '',
  provenance: 'measured',
  repeats: five.map((share) => value * share),
});

function loadPoint(program: string, system: string, params: Params, figures: Record<string, number>): Point {
  return {
    program,
    system,
    params: { payloadBytes: 512, operationsPerTransaction: 10, ...params },
    figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, figure(value)])),
    latencies: {},
    byInstance: {},
    waits: [],
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: [],
  };
}

const atOnce = (system: string, dequeuePerSec: number, params: Params = {}) =>
  loadPoint('closed-loop', system, { schedule: 'at-once', dequeuers: 8, ...params }, { dequeuePerSec });

const enqueuesAlone = (system: string, enqueuePerSec: number) =>
  loadPoint('closed-loop', system, { schedule: 'enqueue-then-dequeue', dequeuers: 8 }, { enqueuePerSec });

const latency = (system: string, p50: number, p99: number) =>
  loadPoint(
    'open-loop',
    system,
    { operationsPerTransaction: 1, messagesPerSec: 500, emulatedSyncMs: 0 },
    { latencyP50Ms: p50, latencyP99Ms: p99 },
  );

/** A point of the program `queue` or `topic` whose measurements agree, with its share of the raw limit. */
const raw = (facts: PointFacts, rawRatio: number): Point => {
  const made = queuePoint({ repeats: five, ...facts });
  return { ...made, figures: { ...made.figures, rawRatio: figure(rawRatio) } };
};

const rest = (
  system: string,
  operationsPerTransaction: number,
  schedule: string,
  figures: Record<string, number>,
) => loadPoint('closed-loop', system, { schedule, operationsPerTransaction }, figures);

/** Points over REST. 70 % of the rate with validation alone are the target's 150,000 messages a second. */
const restPoints = (share: number): Point[] => [
  rest('rest-validating', 1, 'enqueue', { enqueuePerSec: 10_000 }),
  rest('rest-validating', 100, 'enqueue', { enqueuePerSec: 150_000 / 0.7 }),
  rest('rest', 1, 'enqueue', { enqueuePerSec: 7_000 * share }),
  rest('rest', 100, 'enqueue', { enqueuePerSec: 150_000 * share }),
  rest('rest', 100, 'enqueue-then-dequeue', { enqueuePerSec: 100_000, dequeuePerSec: 100_000 * share }),
  rest('rest-2', 100, 'enqueue-then-dequeue', {
    enqueuePerSec: 100_000 * share,
    dequeuePerSec: 100_000 * share ** 2,
  }),
];

/** Points of all scenarios, with `share` of what each target asks for: above 1 they meet it, below 1 they miss it. */
function allPoints(share: number): Point[] {
  const single = {
    schedule: 'enqueue-then-dequeue',
    operationsPerTransaction: 1,
    enqueuers: 1,
    dequeuers: 1,
  };
  const half = { shareOfMaximum: 0.5 };
  const standing = (backlog: number, dequeuePerSec: number) =>
    loadPoint(
      'standing-backlog',
      'sharded',
      { backlog },
      { dequeuePerSec, residentMiB: 512 / share, readyAfterKillMs: 5_000 / share },
    );
  return [
    raw({ instances: 2, threads: 32, deq: 60_000, enq: 60_000 * 0.95 * share }, 0.75 * share),
    raw({ instances: 2, threads: 4, operations: 1_000, deq: 60_000 }, 0.8 * share),
    raw({ threads: 32, operations: 1, deq: 20_000 }, 0.22 * share),
    raw({ subscribers: 10, instances: 2, threads: 32, deq: 100_000, cpuUs: 3 / share }, 3 * share),
    raw({ subscribers: 1, instances: 2, threads: 32, deq: 50_000, cpuUs: 9 }, 3),
    raw({ threads: 16, deq: 50_000, cpuUs: 10 }, 1),
    raw({ system: 'unsharded', threads: 16, deq: 10_000, cpuUs: 40 * share }, 0.7 * share),
    raw({ system: 'unsharded', threads: 16, operations: 1_000, deq: 10_000 }, 0.7 * share),
    raw({ system: 'unsharded-grouped', threads: 16, deq: 10_000 }, 0.7 * share),
    loadPoint('closed-loop', 'sharded', single, { rawRatio: 0.5 * share, eventLoopDelayP99Ms: 5 / share }),
    atOnce('unsharded', 2_000 * share),
    atOnce('plainjob', 2_000),
    atOnce('sharded-remote', 5_000 * share),
    atOnce('redis-log-always-reliable', 2_000),
    atOnce('redis-log-second-reliable', 5_000),
    enqueuesAlone('sharded-prefetch', 2_000 * share),
    enqueuesAlone('redis-log-always-reliable', 2_000),
    enqueuesAlone('redis-log-second-reliable', 5_000),
    latency('sharded-remote', 1 / share, 2 / share),
    latency('redis-log-always-reliable', 1, 2),
    latency('redis-log-second-reliable', 0.1, 0.2),
    loadPoint('open-loop', 'sharded', { ...half, emulatedSyncMs: 0 }, { eventLoopDelayP99Ms: 5 / share }),
    loadPoint('open-loop', 'sharded', { ...half, emulatedSyncMs: 20 }, { eventLoopDelayP99Ms: 5 / share }),
    ...restPoints(share),
    standing(10_000, 100_000),
    standing(10_000_000, 80_000 * share),
  ];
}

describe('the targets', () => {
  it('are met above their values and missed below', () => {
    const verdicts = (share: number) => judge(ids, allPoints(share)).map(({ id, verdict }) => [id, verdict]);
    expect(verdicts(1.2)).toEqual(ids.map((id) => [id, 'holds']));
    expect(verdicts(0.8)).toEqual(ids.map((id) => [id, 'does-not-hold']));
  });

  it('are undecided without points, and say what they need', () => {
    for (const { id, verdict, reason } of judge(ids, [])) {
      expect(verdict, id).toBe('inconclusive');
      expect(reason, id).toMatch(/^Needs /);
    }
  });

  it('relative to the raw limit need raw probes', () => {
    const { rawRatio: _, ...figures } = allPoints(1.2)[0]!.figures;
    expect(verdictOf('P1', [{ ...allPoints(1.2)[0]!, figures }])).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('raw probes'),
    });
  });

  it('for every size of transactions and both kinds of unsharded queue are missed if one size or kind misses them', () => {
    const points = [
      raw({ system: 'unsharded', threads: 16, deq: 10_000 }, 0.9),
      raw({ system: 'unsharded-grouped', threads: 16, deq: 10_000 }, 0.6),
      raw({ system: 'unsharded', threads: 16, operations: 1_000, deq: 10_000 }, 0.5),
      raw({ system: 'unsharded-grouped', threads: 16, operations: 1_000, deq: 10_000 }, 0.8),
    ];
    const result = verdictOf('P7', points);
    expect(result).toMatchObject({ verdict: 'does-not-hold' });
    expect(result.clauses.map(({ statement, verdict }) => [statement, verdict])).toEqual([
      ['unsharded, with 10 a transaction', 'holds'],
      ['unsharded, with 1,000 a transaction', 'does-not-hold'],
      ['unsharded-grouped, with 10 a transaction', 'does-not-hold'],
      ['unsharded-grouped, with 1,000 a transaction', 'holds'],
    ]);
  });

  it('for the unsharded queue are tested by a scenario with both kinds of unsharded queue', async () => {
    const testing = (await readScenarioFolder()).flatMap(({ parsed }) =>
      parsed.ok && parsed.scenario.claims.includes('P7') ? [parsed.scenario] : [],
    );
    expect(testing.length).toBeGreaterThan(0);
    for (const { systems, quick } of testing)
      for (const measured of [systems, quick?.systems ?? systems])
        expect(measured).toEqual(expect.arrayContaining(['unsharded', 'unsharded-grouped']));
  });

  it('relative to other queues compare each system at its best number of dequeuers', () => {
    const points = [
      atOnce('sharded-remote', 20_000, { dequeuers: 8 }),
      atOnce('sharded-prefetch', 40_000, { dequeuers: 32 }),
      atOnce('postgres-skip-locked', 1_000, { dequeuers: 8 }),
      atOnce('postgres-skip-locked', 4_000, { dequeuers: 32 }),
      atOnce('nats-jetstream', 60_000),
    ];
    expect(verdictOf('P9', points)).toMatchObject({
      verdict: 'holds',
      value: 10,
      reason: expect.stringContaining('postgres-skip-locked 4,000/s with 32 dequeuers'),
    });
    expect(verdictOf('P10', points)).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('nats-jetstream'),
    });
  });

  it('relative to servers that sync rise with the size of transactions', () => {
    const points = [1, 10, 1000].flatMap((operationsPerTransaction) => [
      atOnce('sharded-remote', 4_000, { operationsPerTransaction }),
      atOnce('postgres-skip-locked', 2_000, { operationsPerTransaction }),
    ]);
    const { clauses } = verdictOf('P9', points);
    expect(clauses.map(({ verdict }) => verdict)).toEqual(['holds', 'does-not-hold', 'does-not-hold']);
  });

  it('for latency ignore points that were not steady, and servers that do not sync', () => {
    const [own, redis] = [latency('sharded-remote', 1, 9), latency('redis-log-always-reliable', 2, 2)];
    expect(verdictOf('P14', [own, redis])).toMatchObject({ verdict: 'holds', value: 0.5 });
    expect(verdictOf('P15', [own, redis])).toMatchObject({ verdict: 'does-not-hold', value: 4.5 });
    expect(verdictOf('P14', [own, { ...redis, figures: {} }])).toMatchObject({ verdict: 'inconclusive' });
    expect(verdictOf('P14', [own, latency('nats-jetstream', 2, 2)])).toMatchObject({
      verdict: 'inconclusive',
    });
  });

  it('for a large backlog are not decided by a smaller one', () => {
    const small = allPoints(1.2)
      .filter(({ program }) => program === 'standing-backlog')
      .map((each) => ({ ...each, params: { ...each.params, backlog: Number(each.params.backlog) / 100 } }));
    for (const id of ['P11', 'P19', 'P20'])
      expect(verdictOf(id, small), id).toMatchObject({
        verdict: 'inconclusive',
        reason: expect.stringContaining('10,000,000'),
      });
  });
});

describe('a system that keeps nothing', () => {
  /** Points in which our systems only count, and the other systems are unchanged. */
  const counter = (): Point[] =>
    allPoints(1).map((each) => {
      const isOurs = /^(sharded|unsharded|rest(-2)?$)/.test(each.system);
      const better = Object.entries(each.figures).map(([name, { value }]): [string, Figure] => {
        const isRate = name.endsWith('PerSec') || name === 'rawRatio';
        return [name, figure(isRate ? value * 100 : value / 100)];
      });
      return isOurs ? { ...each, figures: Object.fromEntries(better) } : each;
    });

  /** Gives a counter the same rate with every backlog, as a real one would have. */
  const flat = (points: Point[]) =>
    points.map((each) =>
      each.program === 'standing-backlog'
        ? { ...each, figures: { ...each.figures, dequeuePerSec: figure(9e6) } }
        : each,
    );

  /** Makes two processes count twice as fast as one, and dequeues twice as fast as enqueues. */
  const scaling = (points: Point[]) =>
    points.map((each) => {
      if (each.params.schedule !== 'enqueue-then-dequeue' || !each.system.startsWith('rest')) return each;
      const times = each.system === 'rest-2' ? 2 : 1;
      return {
        ...each,
        figures: { enqueuePerSec: figure(times * 1e6), dequeuePerSec: figure(times * 2e6) },
      };
    });

  /** Targets that the impostors meet at all scenarios. Their time books do not add up, or their clients set the pace. */
  async function passedByImpostors(): Promise<string[]> {
    const scenarios = (await readScenarioFolder()).flatMap(({ parsed }) =>
      parsed.ok && isOfQueues(parsed.scenario) ? [parsed.scenario] : [],
    );
    return impostors.flatMap(({ systems }) =>
      scenarios.flatMap((scenario) => {
        const points = measure({ scenario, scale: 'full', systems, seed: 1 }).map((each) => {
          const rawRatio = figure(each.figures.dequeuePerSec!.value / rawPerSecOf(scenario, each));
          return { ...each, figures: { ...each.figures, rawRatio } };
        });
        return passed(scenario.claims, points);
      }),
    );
  }

  it('meets exactly the targets that are graded weak', async () => {
    const ofQueues = ['P1', 'P2', 'P3', 'P5', 'P6', 'P7', 'P12', 'P13'];
    const others = ids.filter((id) => !ofQueues.includes(id));
    const met = new Set([...passed(others, scaling(flat(counter()))), ...(await passedByImpostors())]);
    const weak = study.claims.filter((claim) => claim.weak !== undefined).map(({ id }) => id);
    expect(weak).toEqual(ids.filter((id) => met.has(id)));
  });
});

const passed = (claims: readonly string[], points: readonly Point[]): string[] =>
  judge(claims, points).flatMap(({ id, verdict }) => (verdict === 'holds' ? [id] : []));

/** Rows per second of SQLite alone on an ordinary machine, by rows in a transaction. */
const rawCyclePerSec: Readonly<Record<string, number>> = { 1: 2_800, 10: 26_000, 1000: 250_000 };
const rawPerSecOf = ({ probes }: Scenario, { params }: Point): number =>
  probes === true ? rawCyclePerSec[String(params.operationsPerTransaction)]! : 400_000;

const isOfQueues = ({ study: of, program, claims }: Scenario) =>
  of === 'peers' && ['queue', 'topic'].includes(program) && claims.length > 0;
