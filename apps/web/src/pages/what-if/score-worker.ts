/** Predicts workloads that were measured, in a web worker, so that the page stays responsive. The page terminates it. */
import { compareWithMeasured, resolveHardware } from '@shardlab/model';
import { predictedPhases } from '../../model/prediction-score.ts';
import type { ScoreRequest, ScoreResponse } from './score-messages.ts';

/** The global scope of a worker, as far as it is used here. */
const scope = globalThis as unknown as {
  onmessage: ((event: { data: ScoreRequest }) => void) | null;
  postMessage(message: ScoreResponse): void;
};

scope.onmessage = ({ data: { hardware, workloads } }) => {
  const costs = resolveHardware(hardware);
  for (const [index, workload] of workloads.entries()) {
    const { backlogMax, durability } = workload;
    const options = { backlogMax, durability, phases: predictedPhases(workload) };
    const [row] = compareWithMeasured(costs, [workload], options);
    scope.postMessage({ index, row: row! });
  }
};
