import { type MeasuredWorkload, MeasuredWorkloadList, measuredWorkloadsMax } from '@shardlab/contract';
import { measuredWorkloads, newestOfEach } from '@shardlab/lab';
import type { App } from '../http/app-types.ts';
import { limits } from '../limits.ts';
import type { RunStore } from '../store/run-store.ts';

type Runs = Pick<RunStore, 'finishedHere' | 'readableHead' | 'points'>;

/** Measurements of this machine, for a comparison with the model's predictions. */
export function measuredRoutes(app: App, { runs }: { runs: Runs }): void {
  app.get(
    '/api/measured-workloads',
    {
      schema: {
        summary: 'Workloads of finished runs on this machine that the model can repeat, newest first',
        tags: ['model'],
        response: { 200: MeasuredWorkloadList },
      },
    },
    async () => ({ workloads: newestOfEach(workloadsOf(runs), measuredWorkloadsMax) }),
  );
}

/** Runs are read one after the other, until there are enough workloads. */
function* workloadsOf(runs: Runs): Generator<MeasuredWorkload> {
  for (const id of runs.finishedHere(limits.runsComparedMax)) {
    const head = runs.readableHead(id);
    if (head === undefined) continue;
    const endedAtMs = head.endedAtMs ?? head.createdAtMs;
    yield* measuredWorkloads({ ...head, endedAtMs }, runs.points(id));
  }
}
