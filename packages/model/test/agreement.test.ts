/** How the model is compared with measured points: it agrees with points of its own, and a wrong cost shows. */
import {
  agreementFigures,
  agreementOf,
  type ClusterCosts,
  compareWithMeasured,
  type MeasuredPoint,
  type SimulationResult,
  simulate,
  worstOf,
} from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import { costsWith, nodeLike, workloadWith } from './model-costs.ts';

const options = {
  backlogMax: 2_000,
  durability: 'durable' as const,
  phases: { warmupMs: 300, measureMs: 1_000 },
};

/** The figures that a run would have measured. */
function figuresOf({
  dequeuePerSec,
  cpuUsPerMessage,
  commitMs,
  dequeueCallMs,
  latencyMs,
}: SimulationResult): MeasuredPoint['figures'] {
  return {
    dequeuePerSec,
    cpuUsPerMessage,
    commitMs: commitMs.p50,
    dequeueCallMs: dequeueCallMs.p50,
    latencyMs: latencyMs.p50,
  };
}

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
        return {
          kind,
          params: { instances, threads, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
          figures: figuresOf(result),
        };
      }),
    ),
  );
}

const points = pointsOf(nodeLike);
const agree = (costs: ClusterCosts) => compareWithMeasured(costs, points, options);

describe('agreement', () => {
  test('is complete in every figure for a model with the costs of the machine', () => {
    const rows = agree(nodeLike);
    for (const figure of agreementFigures) {
      const { within, of, medianError } = agreementOf(rows, figure);
      expect([figure, within, of]).toEqual([figure, points.length, points.length]);
      expect(medianError).toBeLessThan(0.03);
    }
  });

  test('counts every figure by one rule, over the points that have the figure', () => {
    const comparison = (error: number) => ({ measured: 1, simulated: 1 + error, error });
    const row = (compared: (typeof rows)[number]['compared']) => ({
      ...points[0]!,
      compared,
      bottleneck: null,
    });
    const rows = compareWithMeasured(nodeLike, [], options);
    rows.push(
      row({ dequeuePerSec: comparison(0.2), latencyMs: comparison(0.21) }),
      row({ dequeuePerSec: comparison(-0.19) }),
      row({ dequeuePerSec: comparison(-0.5), latencyMs: comparison(0) }),
    );
    expect(agreementOf(rows, 'dequeuePerSec')).toEqual({ within: 2, of: 3, medianError: 0.2 });
    expect(agreementOf(rows, 'latencyMs')).toMatchObject({ within: 1, of: 2 });
    expect(agreementOf(rows, 'commitMs')).toMatchObject({ within: 0, of: 0 });
    expect(worstOf(rows, 'dequeuePerSec')).toBe(rows[2]);
    expect(worstOf(rows, 'latencyMs')).toBe(rows[0]);
    expect(worstOf(rows, 'commitMs')).toBeNull();
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
    expect(agreementOf(agree(costs), 'dequeuePerSec').within).toBeLessThan(points.length);
  });

  test('takes only the workload from the points, so that measured figures do not change the simulation', () => {
    const simulatedOf = (factor: number) =>
      compareWithMeasured(
        nodeLike,
        points.slice(0, 2).map((point) => ({
          ...point,
          params: { ...point.params, roundTripMs: 1 },
          figures: { dequeuePerSec: point.figures.dequeuePerSec! * factor },
        })),
        options,
      ).map(({ compared }) => compared.dequeuePerSec!.simulated);
    expect(simulatedOf(3)).toEqual(simulatedOf(1));
  });

  test('simulates an emulated round trip with the delay of the machine’s timer', () => {
    const late = costsWith({ sessions: { timerLateUs: 250 } }, nodeLike);
    const workload = workloadWith({ roundTripUs: 1_250 });
    const { dequeuePerSec } = simulate({ costs: nodeLike, seed: 77, workload, phases: options.phases });
    const point: MeasuredPoint = {
      ...points[0]!,
      params: { ...points[0]!.params, threads: 4, roundTripMs: 1 },
      figures: { dequeuePerSec },
    };
    const errorWith = (costs: ClusterCosts) =>
      agreementOf(compareWithMeasured(costs, [point], options), 'dequeuePerSec').medianError;
    expect(errorWith(late)).toBeLessThan(0.03);
    expect(errorWith(nodeLike)).toBeGreaterThan(0.1);
    // Embedded sessions have no round trip that a timer could delay.
    expect(compareWithMeasured(late, points.slice(0, 3), options)).toEqual(agree(nodeLike).slice(0, 3));
  });
});
