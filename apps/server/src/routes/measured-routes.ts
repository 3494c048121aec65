import { MeasuredWorkloadList } from '@shardlab/contract';
import type { App } from '../http/app-types.ts';
import { limits } from '../limits.ts';
import type { RunFiles } from '../runs/run-files.ts';
import type { RunStore } from '../store/run-store.ts';

export interface MeasuredRoutesOptions {
  runs: Pick<RunStore, 'finishedHere' | 'readableHead' | 'pointsJson' | 'tellPoint'>;
  files: Pick<RunFiles, 'measured'>;
}

const pointsOf = (runs: MeasuredRoutesOptions['runs'], id: string) => ({
  pointsJson: () => runs.pointsJson(id),
  onDamage: (number: number, damage: string) => runs.tellPoint(id, number, damage),
});

/** Measurements of this machine, for a comparison with the model's predictions. */
export function measuredRoutes(app: App, { runs, files }: MeasuredRoutesOptions): void {
  app.get(
    '/api/measured-workloads',
    {
      schema: {
        summary: 'Workloads of finished runs on this machine that the model can repeat, newest first',
        tags: ['model'],
        response: { 200: MeasuredWorkloadList },
      },
    },
    async () => {
      const finished = runs.finishedHere(limits.runsComparedMax).flatMap((id) => {
        const head = runs.readableHead(id);
        if (head === undefined) return [];
        const endedAtMs = head.endedAtMs ?? head.createdAtMs;
        return { head: { ...head, endedAtMs }, ...pointsOf(runs, id) };
      });
      return { workloads: finished.length === 0 ? [] : await files.measured(finished) };
    },
  );
}
