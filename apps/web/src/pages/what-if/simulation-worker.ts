/**
 * Runs the model in a web worker, so that the page stays responsive. Before each point it checks for a newer request
 * and drops the old one, so that a moving slider is not answered for its earlier positions.
 */
import { simulate } from '@shardlab/model';
import type { SimulatorRequest, SimulatorResponse } from './simulation-messages.ts';

/** The global scope of a worker, as far as it is used here. */
const scope = globalThis as unknown as {
  onmessage: ((event: { data: SimulatorRequest }) => void) | null;
  postMessage(message: SimulatorResponse): void;
};

let latest = 0;

scope.onmessage = ({ data }) => {
  latest = data.id;
  void runJobs(data);
};

async function runJobs({ id, request }: SimulatorRequest): Promise<void> {
  const { costs, jobs } = request;
  for (const { key, workload, measureOperations } of jobs) {
    // Let the event loop deliver a newer request.
    await new Promise((resume) => setTimeout(resume, 0));
    if (latest !== id) return;
    const result = simulate({
      costs,
      workload,
      measureOperations,
      warmupOperations: Math.round(measureOperations / 5),
    });
    scope.postMessage({ id, key, result });
  }
  scope.postMessage({ id, key: null });
}
