/**
 * Runs the model in a web worker, so that the page stays responsive. A newer request is noticed within milliseconds and the
 * old one dropped, so that a moving slider is not answered for its earlier positions.
 */
import { simulateInSteps } from '@shardlab/model';
import { type SimulatedPoint, simulatedMetrics } from '../../model/what-if-series.ts';
import type { SimulationStage, SimulatorRequest, SimulatorResponse } from './simulation-messages.ts';

/** The global scope of a worker, as far as it is used here. */
const scope = globalThis as unknown as {
  onmessage: ((event: { data: SimulatorRequest }) => void) | null;
  postMessage(message: SimulatorResponse): void;
};

/** How long the worker simulates before it looks for a newer request, milliseconds. */
const turnMs = 5;
/** Points are sent together: each answer redraws the chart. The first of a request come after this time at the latest. */
const answerEveryMs = 40;

let latest = 0;

scope.onmessage = ({ data }) => {
  latest = data.id;
  void runJobs(data);
};

/** Lets a message arrive. Unlike a timer, of which nested ones last four milliseconds at least. */
function nextTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resume) => {
    port1.onmessage = () => {
      port1.close();
      resume();
    };
    port2.postMessage(null);
  });
}

async function runJobs({ id, request: { costs, passes } }: SimulatorRequest): Promise<void> {
  let points: SimulatedPoint[] = [];
  let answeredAt = performance.now();
  let turnAt = answeredAt;
  const answer = (stage: SimulationStage) => {
    scope.postMessage({ id, stage, points });
    points = [];
    answeredAt = performance.now();
  };
  for (const [index, jobs] of passes.entries()) {
    const stage = index === 0 ? 'coarse' : 'refining';
    for (const job of jobs) {
      const { workload, warmupOperations, measureOperations } = job;
      const steps = simulateInSteps({ costs, workload, warmupOperations, measureOperations });
      let step = steps.next();
      while (!step.done) {
        if (performance.now() - turnAt > turnMs) {
          await nextTurn();
          if (latest !== id) return;
          turnAt = performance.now();
        }
        step = steps.next();
      }
      // A window in which nothing was dequeued is too short to say anything; a later pass has a longer one.
      if (step.value.dequeuePerSec > 0) points.push({ job, result: simulatedMetrics(step.value) });
      if (performance.now() - answeredAt > answerEveryMs) answer(stage);
    }
    answer(index === passes.length - 1 ? 'done' : stage);
  }
}
