import type { Params, Point } from '@shardlab/contract';
import { measuredWorkloads, newestOfEach } from '@shardlab/lab';
import { expect, test } from 'vitest';
import { type PointFacts, point, smallScenario } from './support.ts';

const run = { id: 'r', scenario: smallScenario(), scale: 'full' as const, endedAtMs: 5 };

function measured(facts: Partial<PointFacts> = {}, params: Params = {}, changes: Partial<Point> = {}): Point {
  const made = point({ deq: 5_000, threads: 2, ...facts });
  return { ...made, params: { ...made.params, backlogMax: 500, ...params }, ...changes };
}

test('points of queues and sharded topics become workloads with their measured figures', () => {
  const workloads = measuredWorkloads(run, [
    measured({ cpuUs: 12, callMs: 0.5 }),
    measured({ system: 'unsharded', roundTripMs: 1 }),
    measured({ subscribers: 3 }),
  ]);
  expect(workloads.map(({ kind }) => kind)).toEqual(['sharded', 'unsharded', 'sharded']);
  expect(workloads[0]).toEqual({
    run: 'r',
    title: 'A small scenario',
    endedAtMs: 5,
    kind: 'sharded',
    params: { instances: 1, threads: 2, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
    backlogMax: 500,
    durability: 'durable',
    phases: { warmupMs: 20, measureMs: 100 },
    figures: { dequeuePerSec: 5_000, cpuUsPerMessage: 12, dequeueCallMs: 0.5, latencyMs: 1 },
    disturbed: false,
  });
  expect(workloads[2]!.params.subscribers).toBe(3);
});

test('workloads that the model lacks are left out', () => {
  const lacking: Point[] = [
    measured({ system: 'unsharded-grouped' }),
    measured({ system: 'unsharded', subscribers: 3 }),
    measured({}, { sessions: 'remote' }),
    measured({}, { rows: 'together' }),
    measured({}, { dequeuers: 'other-instance' }),
    measured({}, { placement: 'skewed' }),
    measured({}, { backlog: 1_000 }),
    measured({}, { shardsPerInstance: 2 }),
    measured({}, { cacheMiB: 1 }),
    measured({}, { payloadBytes: 2 * 1024 ** 2 }),
    measured({ deq: 1 }, {}, { figures: {} }),
    measured({}, {}, { program: 'xa' }),
  ];
  expect(measuredWorkloads(run, lacking)).toEqual([]);
  const faulty = { ...run, scenario: smallScenario({ faults: [{ kind: 'kill', instance: 1, atMs: 1 }] }) };
  expect(measuredWorkloads(faulty, [measured()])).toEqual([]);
});

test('a point with a disturbed repeat says so', () => {
  const conditions = { notSteady: 0, disturbed: 1, measuredAgain: 0 };
  expect(measuredWorkloads(run, [measured({}, {}, { conditions })])[0]!.disturbed).toBe(true);
});

test('the newest measurement of each workload is kept, up to a maximum number', () => {
  const newer = measuredWorkloads({ ...run, id: 'newer' }, [measured(), measured({ threads: 4 })]);
  const older = measuredWorkloads({ ...run, id: 'older' }, [
    measured({ deq: 9 }),
    measured({ threads: 8 }),
    measured({ threads: 16 }),
  ]);
  const kept = newestOfEach([...newer, ...older], 3);
  expect(kept.map(({ run: id, params }) => [id, params.threads])).toEqual([
    ['newer', 2],
    ['newer', 4],
    ['older', 8],
  ]);
});
