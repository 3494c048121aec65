import { Readable } from 'node:stream';
import {
  ExportedRun,
  Id,
  RecordedRunList,
  Run,
  RunCancelled,
  RunList,
  RunListQuery,
  runListLimits,
  type Scenario,
  StartRun,
} from '@shardlab/contract';
import { parseScenario, type StudyRegistry } from '@shardlab/lab';
import Type from 'typebox';
import type { App } from '../http/app-types.ts';
import type { EventStreams } from '../http/event-streams.ts';
import { contentOf, eventStream, refusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import { endEventId } from '../runs/event-log.ts';
import type { RunService } from '../runs/run-service.ts';
import type { ScenarioLibrary } from '../scenarios/scenario-library.ts';
import { idParams as params } from './params.ts';

const tags = ['runs'];
const ExportQuery = Type.Object(
  { format: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('csv')])) },
  { additionalProperties: false },
);

export interface RunRoutesOptions {
  runs: RunService;
  library: ScenarioLibrary;
  studies: StudyRegistry;
  streams: EventStreams;
}

export function runRoutes(app: App, { runs, library, studies, streams }: RunRoutesOptions): void {
  app.post(
    '/api/runs',
    {
      bodyLimit: limits.scenarioBodyBytes,
      schema: {
        summary: 'Start a run; runs are executed one at a time',
        tags,
        body: StartRun,
        response: { 202: Id, ...refusals(404, 409, 422) },
      },
    },
    async (request, reply) => {
      const { scenario, scale = 'quick' } = request.body;
      const { id } = runs.start(resolveScenario(scenario, { library, studies }), scale);
      return reply.code(202).header('location', `/api/runs/${id}`).send({ id });
    },
  );
  app.get(
    '/api/runs',
    {
      schema: {
        summary: 'Runs: all or some, in one of several orders, page by page',
        tags,
        querystring: RunListQuery,
        response: { 200: RunList },
      },
    },
    async (request) => {
      const { limit = runListLimits.limitDefault, ...query } = request.query;
      return runs.list({ ...query, limit });
    },
  );
  app.get(
    '/api/runs/recorded',
    {
      schema: {
        summary: 'Runs at full scale that come with the lab, for machines that have none of their own',
        tags,
        response: { 200: RecordedRunList },
      },
    },
    async () => runs.listRecorded(),
  );
  app.get(
    '/api/runs/:id',
    { schema: { summary: 'One run with its points', tags, params, response: { 200: Run } } },
    async (request, reply) => {
      const json = Readable.from(runs.write(request.params.id, 'stored'));
      return reply.type('application/json; charset=utf-8').send(json as never); // it is stored as JSON
    },
  );
  app.delete(
    '/api/runs/:id',
    {
      schema: {
        summary: 'Delete a run that has ended',
        tags,
        params,
        response: { 204: Type.Null(), ...refusals(409) },
      },
    },
    async (request, reply) => {
      runs.remove(request.params.id);
      return reply.code(204).send(null);
    },
  );
  app.post(
    '/api/runs/:id/cancel',
    {
      schema: {
        summary: 'Cancel a run; its finished points are kept',
        tags,
        params,
        response: { 202: RunCancelled, ...refusals(409) },
      },
    },
    async (request, reply) => {
      const { id, status } = runs.cancel(request.params.id);
      return reply.code(202).send({ id, status });
    },
  );
  app.post(
    '/api/runs/:id/resume',
    {
      schema: {
        summary: 'Resume a run that the end of the server interrupted; what it has measured is kept',
        tags,
        params,
        response: { 202: Id, ...refusals(409) },
      },
    },
    async (request, reply) => {
      const { id } = await runs.resume(request.params.id);
      return reply.code(202).send({ id });
    },
  );
  app.get(
    '/api/runs/:id/export',
    {
      schema: {
        summary: 'A run as a file: all that is kept of it as json, its points as csv',
        tags,
        params,
        querystring: ExportQuery,
        response: { 200: contentOf({ 'application/json': ExportedRun, 'text/csv': Type.String() }) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { format = 'json' } = request.query;
      const head = runs.head(id);
      const content = Readable.from(runs.write(id, format));
      const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8';
      const name = `${head.scenario.id}-${id.slice(0, 8)}.${format}`;
      return reply
        .type(type)
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(content as never); // its type in the API description is string
    },
  );
  app.get(
    '/api/runs/:id/events',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'The events of a run as server-sent events; resumes after Last-Event-ID',
        tags,
        params,
        headers: Type.Object({ 'last-event-id': Type.Optional(Type.String()) }),
        response: { 200: eventStream, 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const lastEventId = parseEventId(request.headers['last-event-id']);
      if (runs.hasEnded(id)) {
        // A browser reconnects when a stream ends; 204 tells it to stop.
        if (lastEventId === endEventId) return reply.code(204).send(null);
        const events = await runs.endedStream(id);
        return reply.type('text/event-stream; charset=utf-8').send(events as never); // as each other answer
      }
      let stop = () => {};
      const stream = streams.open(reply, () => stop());
      stop = runs.follow(id, stream, lastEventId);
    },
  );
}

/** Resolves a scenario given by id or as an object. Throws `SCENARIO_NOT_FOUND`, `SCENARIO_INVALID`, `SCENARIO_TOO_LARGE`. */
function resolveScenario(
  given: StartRun['scenario'],
  { library, studies }: Pick<RunRoutesOptions, 'library' | 'studies'>,
): Scenario {
  if (typeof given === 'string') return library.get(given).scenario;
  const parsed = parseScenario(given, studies);
  if (!parsed.ok) throw parsed.error;
  return parsed.scenario;
}

function parseEventId(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d{1,16}$/.test(header) ? Number(header) : null;
}
