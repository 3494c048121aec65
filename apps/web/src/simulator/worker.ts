/**
 * The model in a thread of its own, so that the page stays live. It works off the newest request, a point at a time, and
 * looks for a newer one in between: a slider that moves on is not answered for where it was.
 */
import { simulate } from '@shardlab/model';
import type { FromSimulator, ToSimulator } from './messages.ts';

/** The page's worker scope, as far as it is used here. */
const scope = globalThis as unknown as {
  onmessage: ((event: { data: ToSimulator }) => void) | null;
  postMessage(message: FromSimulator): void;
};

let latest = 0;

scope.onmessage = ({ data }) => {
  latest = data.id;
  void answer(data);
};

async function answer({ id, request }: ToSimulator): Promise<void> {
  const { costs, jobs } = request;
  for (const { key, workload, measureOperations } of jobs) {
    // A turn of the event loop, in which a newer request may come.
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
