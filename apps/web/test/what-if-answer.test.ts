import type { Hardware } from '@shardlab/contract';
import { resolveHardware, simulate } from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import twoCores from '../../../scenarios/hardware/two-core-epyc.json' with { type: 'json' };
import { type Position, simulationRequest, whatIfDefault } from '../src/model/what-if.ts';
import { answersOf, changeInWords, differenceInWords } from '../src/model/what-if-answer.ts';
import { type Limit, limitedBy, limits, withoutLimits } from '../src/model/what-if-limits.ts';
import { received, startPositions } from '../src/model/what-if-positions.ts';
import { type SimulatedPoint, simulatedMetrics } from '../src/model/what-if-series.ts';
import { metric } from './fixtures/program.ts';

const hardware = twoCores as unknown as Hardware;

function simulated(
  threads: readonly number[],
  without: readonly Limit[] = [],
  syncUs = 5_000,
): SimulatedPoint[] {
  const { costs, passes } = simulationRequest(hardware, { ...whatIfDefault, syncUs }, threads, without);
  return passes[1]!.map((job) => ({ job, result: simulatedMetrics(simulate({ costs, ...job })) }));
}

describe('what limits a rate', () => {
  test('is a slow disk, without which the rate is higher', () => {
    const [withDisk] = answersOf(simulated([4]), [], { metric, threads: null });
    expect(withDisk).toMatchObject({ system: 'sharded', limit: 'writerThread', change: null });
    expect(withDisk!.words).toMatch(/^a writer thread and its syncs, \d+ % busy$/);
    const [without] = answersOf(simulated([4], ['writerThread']), simulated([4]), { metric, threads: null });
    expect(without!.limit).not.toBe('writerThread');
    expect(without!.change!).toBeGreaterThan(1);
  });

  test('is what the sessions wait for if no resource is busy', () => {
    const use = {
      cores: 0.1,
      sessionThread: 0,
      writerThread: 0,
      redoDevice: 0.2,
      partitionMaintenance: 0,
      indexBlock: 0,
    };
    const { timeShare } = simulated([1])[0]!.result;
    const none = Object.fromEntries(Object.keys(timeShare).map((name) => [name, 0])) as typeof timeShare;
    expect(limitedBy(use, { ...none, running: 0.4, 'client round trip': 0.6 })).toEqual({
      limit: 'roundTrips',
      words: 'round trips to the client: 60 % of the sessions’ time; no resource is busy half of it',
    });
    expect(limitedBy(use, { ...none, 'waiting for messages': 0.9 }).limit).toBeNull();
    expect(limitedBy({ ...use, cores: 0.97 }, none)).toEqual({
      limit: 'cores',
      words: 'the cores, 97 % busy',
    });
  });

  test.each(limits)(
    'without %s the costs can be simulated, and nothing else of the machine changes',
    (limit) => {
      const costs = resolveHardware(hardware);
      const before = structuredClone(costs);
      const without = withoutLimits(costs, [limit]);
      expect(costs).toEqual(before);
      if (limit !== 'roundTrips') expect(without).not.toEqual(before); // clients on this machine are embedded and have no round trips
      for (const { result } of simulated([2], [limit])) expect(metric.read(result)).toBeGreaterThan(0);
    },
  );
});

describe('positions of the sliders', () => {
  const points = simulated([1, 2]);
  const [first, second] = [points.slice(0, 2), points.slice(2)];

  test('the last fully simulated one remains as a pale line while the slider moves', () => {
    const rested = received<string>(startPositions, { request: 'a', points, isLast: true });
    expect(rested.before).toBeNull();
    const moved = received(rested, { request: 'b', points: first, isLast: false });
    expect(moved).toMatchObject({
      request: 'b',
      points: first,
      before: { request: 'a', points },
      isAtRest: false,
    });
    const further = received(moved, { request: 'c', points: second, isLast: false });
    expect(further.before).toEqual({ request: 'a', points });
    const there = received(further, { request: 'c', points: [], isLast: true });
    expect(received(there, { request: 'd', points: first, isLast: false }).before).toEqual({
      request: 'c',
      points: second,
    });
  });

  test('a more precise point replaces the coarse one; an empty answer keeps what is shown', () => {
    const coarse = received<string>(startPositions, { request: 'a', points, isLast: false });
    const [point] = points as [SimulatedPoint];
    const better = { ...point, result: { ...point.result, figures: {} } };
    const refined = received(coarse, { request: 'a', points: [better], isLast: false });
    expect(refined.points).toHaveLength(points.length);
    expect(refined.points.at(-1)).toBe(better);
    expect(received(coarse, { request: 'b', points: [], isLast: false })).toBe(coarse);
  });
});

describe('the answer in words', () => {
  test('is for the best number of threads, or for the one under the cursor', () => {
    const points = simulated([1, 4]);
    const rates = points
      .filter(({ job }) => job.system === 'sharded')
      .map(({ result }) => metric.read(result));
    const [best] = answersOf(points, [], { metric, threads: null });
    expect(best!.value).toBe(Math.max(...rates));
    expect(answersOf(points, [], { metric, threads: 1 }).map(({ threads }) => threads)).toEqual([1, 1]);
  });

  test('has changes in percent, or as factors from twice on', () => {
    expect([0.004, 0.12, -0.31, 1, 2.4, 12].map(changeInWords)).toEqual([
      'unchanged',
      '+12 %',
      '−31 %',
      '× 2.0',
      '× 3.4',
      '× 13',
    ]);
  });

  test('names a position by its sliders, its machine and the removed limit', () => {
    const now: Position = { machine: 'here', settings: whatIfDefault, without: ['redoDevice'] };
    expect(differenceInWords(now, now)).toBe('');
    const last: Position = {
      machine: 'there',
      settings: { ...whatIfDefault, syncUs: 20_000, instances: 8 },
      without: ['cores'],
    };
    expect(differenceInWords(last, now)).toBe(
      'there, Instances 8, Disk sync time 20\u202fms, the cores removed, the disk not removed',
    );
    expect(differenceInWords(now, last)).toContain('Disk sync time of the machine');
  });
});
