/** The model against points: it agrees with its own, and every cost that is wrong is seen. */
import {
  type ClusterCosts,
  compareWithMeasured,
  type MeasuredPoint,
  type SimulatedTimes,
  simulate,
} from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import { costsWith, nodeLike, workloadWith } from './model-costs.ts';

const options = {
  backlogMax: 2_000,
  durability: 'durable' as const,
  phases: { warmupMs: 300, measureMs: 1_000 },
};

/** Points of a machine whose costs are known, simulated with another seed. */
function pointsOf(costs: ClusterCosts): MeasuredPoint[] {
  return (['sharded', 'unsharded'] as const).flatMap((kind) =>
    [1, 2].flatMap((instances) =>
      [1, 4, 16].map((threads) => {
        const result = simulate({
          costs,
          seed: 77,
          workload: workloadWith({
            kind,
            instances,
            enqueuers: threads,
            dequeuers: threads,
            backlogMax: options.backlogMax,
          }),
          phases: options.phases,
        });
        const times = ({ p50, p95 }: SimulatedTimes) => ({ p50, p90: p95 });
        return {
          kind: kind,
          params: { instances, threads, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
          enqueuePerSec: result.enqueuePerSec,
          dequeuePerSec: result.dequeuePerSec,
          cpuUsPerMessage: result.cpuUsPerMessage,
          dequeueCallMs: times(result.dequeueCallMs),
          latencyMs: times(result.latencyMs),
        };
      }),
    ),
  );
}

const points = pointsOf(nodeLike);
const agree = (costs: ClusterCosts) => compareWithMeasured(costs, points, options);

describe('agreement', () => {
  test('of a model with the costs of the machine is complete', () => {
    const { rows, within, medianError } = agree(nodeLike);
    expect(within).toBe(points.length);
    expect(medianError).toBeLessThan(0.03);
    expect(rows.every(({ latencyMs }) => latencyMs.inside)).toBe(true);
  });

  test.each([
    ['a sync that takes nothing', costsWith({ redo: { syncUs: 0 } }, nodeLike)],
    [
      'a sync three times as long',
      costsWith({ redo: { syncUs: 450 }, unsharded: { syncUs: 450 } }, nodeLike),
    ],
    [
      'a writer three times as slow',
      costsWith({ sharded: { writeGroupUs: 180, writeEnqueueUs: 3 } }, nodeLike),
    ],
    [
      'sessions that cost nothing',
      costsWith({ sharded: { enqueueUs: 0, dequeueUs: 0, transactionUs: 0, groupUs: 0 } }, nodeLike),
    ],
    ['one core too few', costsWith({ machine: { coresPerNode: 1 } }, nodeLike)],
    [
      'a lock that takes ten times as long to hand over',
      costsWith({ unsharded: { transferUs: 600 } }, nodeLike),
    ],
    [
      'claims that cost three times as much',
      costsWith({ unsharded: { claim: { visitUs: 120, messageUs: 18 } } }, nodeLike),
    ],
  ])('of a model with a wrong cost fails: %s', (_, costs) => {
    expect(agree(costs).within).toBeLessThan(points.length);
  });

  test('takes an emulated round trip for as long as it was where nothing made it longer', () => {
    const trip = (threads: number, tripMs: number): MeasuredPoint => {
      const workload = workloadWith({
        kind: 'sharded',
        enqueuers: threads,
        dequeuers: threads,
        roundTripUs: 1_250,
      });
      const result = simulate({ costs: nodeLike, seed: 77, workload, phases: options.phases });
      const waits = [{ event: 'client round trip', waits: 100, totalMs: 100 * tripMs }];
      return {
        ...points[0]!,
        params: { ...points[0]!.params, threads, roundTripMs: 1 },
        dequeuePerSec: result.dequeuePerSec,
        waits,
      };
    };
    const late = compareWithMeasured(nodeLike, [trip(1, 1.25), trip(4, 1.6)], options);
    expect(late.medianError).toBeLessThan(0.03);
    const asAsked = compareWithMeasured(nodeLike, [trip(1, 1), trip(4, 1)], options);
    expect(asAsked.medianError).toBeGreaterThan(0.1);
  });
});
