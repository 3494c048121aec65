/** Additions by users: names and notes of runs, and runs that were measured elsewhere. */
import { ExportedRun, Id, RunLabels } from '@shardlab/contract';
import type { FastifyRequest } from 'fastify';
import type { App } from '../http/app-types.ts';
import { refusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import type { RunService } from '../runs/run-service.ts';
import { idParams as params } from './params.ts';

const tags = ['runs'];

export function runLabelRoutes(app: App, { runs }: { runs: RunService }): void {
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
  app.register(async (scope) => importRoute(scope as App, runs));
}

/** This route passes its body on as bytes: it is read in another thread. */
function importRoute(app: App, runs: RunService): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => body,
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
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const body = request.body as unknown;
      const bytes = body instanceof Uint8Array ? body : new Uint8Array();
      const id = await runs.import(bytes, request.headers['content-type'] ?? '');
      return reply.code(201).header('location', `/api/runs/${id}`).send({ id });
    },
  );
}
