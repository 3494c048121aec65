/** Additions by users: names and notes of runs, and runs that were measured elsewhere. */
import { ExportedRun, Id, RunLabels } from '@shardlab/contract';
import { assertRunParams, parseScenario, type StudyRegistry } from '@shardlab/lab';
import type { App } from '../http/app-types.ts';
import { refusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import type { RunService } from '../runs/run-service.ts';
import { idParams as params } from './params.ts';

const tags = ['runs'];

export function runLabelRoutes(
  app: App,
  { runs, studies }: { runs: RunService; studies: StudyRegistry },
): void {
  app.put(
    '/api/runs/:id/labels',
    {
      schema: {
        summary: 'Name, note and baseline of a run that has ended',
        tags,
        params,
        body: RunLabels,
        response: { 200: RunLabels, ...refusals(409) },
      },
    },
    async (request) => runs.label(request.params.id, request.body),
  );
  app.post(
    '/api/runs/import',
    {
      bodyLimit: limits.runBodyBytes,
      schema: {
        summary: 'Add a run that was exported as JSON, here or elsewhere',
        tags,
        body: ExportedRun,
        response: { 201: Id, ...refusals(409, 422) },
      },
    },
    async (request, reply) => {
      // A scenario that this version cannot read has points that it cannot show.
      const parsed = parseScenario(request.body.scenario, studies);
      if (!parsed.ok) throw parsed.error;
      assertRunParams(request.body, studies);
      const id = runs.import({ ...request.body, scenario: parsed.scenario });
      return reply.code(201).header('location', `/api/runs/${id}`).send({ id });
    },
  );
}
