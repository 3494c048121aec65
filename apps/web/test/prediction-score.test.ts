import type { Hardware, MeasuredWorkload } from '@shardlab/contract';
import { type AgreementRow, compareWithMeasured, resolveHardware } from '@shardlab/model';
import { expect, test } from 'vitest';
import twoCores from '../../../scenarios/hardware/two-core-epyc.json' with { type: 'json' };
import { createScoreChart } from '../src/charts/score-chart.ts';
import { formatAxisCount } from '../src/model/format.ts';
import {
  errorInWords,
  predictedPhases,
  type ScoredWorkload,
  scoreInWords,
  scorePoints,
  scoresOf,
  scoreTable,
  workloadInWords,
} from '../src/model/prediction-score.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

function workload(changes: Partial<MeasuredWorkload> = {}): MeasuredWorkload {
  return {
    run: 'r1',
    title: 'First look',
    endedAtMs: 0,
    kind: 'sharded',
    params: { instances: 1, threads: 4, roundTripMs: 0, payloadBytes: 512, operationsPerTransaction: 10 },
    backlogMax: 20_000,
    durability: 'durable',
    phases: { warmupMs: 1_000, measureMs: 4_000 },
    figures: { dequeuePerSec: 10_000 },
    disturbed: false,
    ...changes,
  };
}

function scored(
  rates: readonly [measured: number, predicted: number][],
  changes: (index: number) => Partial<MeasuredWorkload> = () => ({}),
): ScoredWorkload[] {
  return rates.map(([measured, simulated], index) => {
    const given = workload({ params: { ...workload().params, threads: 2 ** index }, ...changes(index) });
    const row: AgreementRow = {
      kind: given.kind,
      params: given.params,
      compared: { dequeuePerSec: { measured, simulated, error: simulated / measured - 1 } },
      bottleneck: null,
    };
    return { workload: given, row };
  });
}

test('a score has the number of hits, the median error and the worst prediction', () => {
  const [rates, ...others] = scoresOf(
    scored([
      [10_000, 11_000],
      [20_000, 18_000],
      [30_000, 12_000],
    ]),
  );
  expect(others).toEqual([]); // figures that were not measured have no score
  expect(rates).toMatchObject({ title: 'Dequeue rate', within: 2, of: 3 });
  expect(rates!.medianError).toBeCloseTo(0.1);
  expect(rates!.worst).toMatchObject({ measured: '30,000/s', predicted: '12,000/s' });
  expect(rates!.worst.workload.params.threads).toBe(4);
  expect(scoreInWords(rates!)).toBe(
    '2 of 3 predicted dequeue rates are within 20 % of what was measured; the median error is 10 %.',
  );
  expect(scoresOf([])).toEqual([]);
  expect([-0.12, 0.8, 2.4].map(errorInWords)).toEqual(['−12 %', '+80 %', '3.4 ×']);
});

test('a workload is described by the parameters that distinguish it', () => {
  expect(workloadInWords(workload())).toBe(
    'sharded, 1 instance, 4 threads, 10 operations a transaction, 512 bytes',
  );
  const params = { ...workload().params, roundTripMs: 1, subscribers: 5 };
  expect(workloadInWords(workload({ params }))).toMatch(/, 5 subscribers, 1 ms round trip$/);
});

test('a prediction simulates a part of a long run, and all of a short one', () => {
  expect(predictedPhases(workload({ figures: { dequeuePerSec: 100 } }))).toEqual(workload().phases);
  const { warmupMs, measureMs } = predictedPhases(workload({ figures: { dequeuePerSec: 30_000 } }));
  expect(warmupMs / measureMs).toBeCloseTo(0.25);
  expect((2 * 30_000 * (warmupMs + measureMs)) / 1000).toBeCloseTo(150_000, -3);
  const fastest = predictedPhases(workload({ figures: { dequeuePerSec: 10_000_000 } }));
  expect(fastest.measureMs).toBe(50);
});

test('a measured workload can be predicted', () => {
  const given = workload({ figures: { dequeuePerSec: 40_000, cpuUsPerMessage: 20 } });
  const { backlogMax, durability } = given;
  const [row] = compareWithMeasured(resolveHardware(twoCores as unknown as Hardware), [given], {
    backlogMax,
    durability,
    phases: predictedPhases(given),
  });
  expect(row!.compared.dequeuePerSec!.simulated).toBeGreaterThan(1_000);
  const scores = scoresOf([{ workload: given, row: row! }]);
  expect(scores.map(({ title }) => title)).toEqual(['Dequeue rate', 'CPU a message']);
});

test('the table has a row for each workload, and marks those that other work disturbed', () => {
  const table = scoreTable(scored([[10_000, 11_000]], () => ({ disturbed: true })));
  expect(table.rows[0]!.slice(1, 5)).toEqual(['First look', 'yes', 10_000, 11_000]);
  expect(table.rows[0]).toHaveLength(table.columns.length);
});

test('the chart of predicted over measured rates, one of them disturbed', async () => {
  const points = scorePoints(
    scored(
      [
        [1_200, 1_100],
        [30_000, 12_000],
        [9_000, 9_400],
        [70_000, 78_000],
      ],
      (index) => ({ kind: index % 2 === 0 ? 'unsharded' : 'sharded', disturbed: index === 2 }),
    ),
  );
  expect(points.map(({ measured }) => measured)).toEqual([1_200, 9_000, 30_000, 70_000]);
  const element = svgElement();
  createScoreChart(element, { onCursor: () => {} }).update({
    width: 480,
    height: 340,
    points,
    aim: 0.2,
    formatAxis: formatAxisCount,
    cursor: points[2]!.key,
  });
  await expect(savedFile(element, 'Predicted over measured dequeue rate')).toMatchFileSnapshot(
    '__svg__/score.svg',
  );
});
