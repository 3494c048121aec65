import { availableParallelism } from 'node:os';
import {
  Id,
  LessonList,
  Scale,
  Scenario,
  ScenarioEntry,
  ScenarioList,
  ScenarioValidation,
} from '@shardlab/contract';
import {
  diskBytesMax,
  parseScenario,
  planFigures,
  planLoad,
  type StudyRegistry,
  scenarioSchemaText,
} from '@shardlab/lab';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { ServerError } from '../errors.ts';
import type { App } from '../http/app-types.ts';
import { decodeJsonBody } from '../http/json-body.ts';
import { refusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import type { ScenarioLibrary } from '../scenarios/scenario-library.ts';
import { idParams as params } from './params.ts';

const tags = ['scenarios'];

export interface ScenarioRoutesOptions {
  library: ScenarioLibrary;
  studies: StudyRegistry;
  now: () => number;
}

export function scenarioRoutes(app: App, options: ScenarioRoutesOptions): void {
  const { library, studies } = options;
  app.get(
    '/api/scenarios',
    { schema: { summary: 'Built-in and uploaded scenarios', tags, response: { 200: ScenarioList } } },
    async () => ({ scenarios: await library.list() }),
  );
  app.get(
    '/api/scenarios/:id',
    { schema: { summary: 'One scenario', tags, params, response: { 200: ScenarioEntry } } },
    async (request) => library.get(request.params.id),
  );
  app.get(
    '/api/lessons',
    {
      schema: {
        summary: 'Guided experiments in their order; their scenarios are found by id and are not listed',
        tags,
        response: { 200: LessonList },
      },
    },
    async () => ({ lessons: library.lessons() }),
  );
  // Built at its first use: it is large and rarely requested.
  let schemaText: string | undefined;
  app.get(
    '/api/scenario-schema',
    {
      schema: {
        summary: 'The JSON Schema of a scenario: one of the schemas of all programs',
        tags,
        response: { 200: Type.Object({}, { additionalProperties: true }) },
      },
    },
    (_request, reply) => {
      schemaText ??= scenarioSchemaText(studies.programs);
      return reply.type('application/json; charset=utf-8').send(schemaText as never);
    },
  );
  app.delete(
    '/api/scenarios/:id',
    {
      schema: {
        summary: 'Delete an uploaded scenario',
        tags,
        params,
        response: { 204: Type.Null(), ...refusals(409) },
      },
    },
    async (request, reply) => {
      library.remove(request.params.id);
      return reply.code(204).send(null);
    },
  );
  app.register(async (scope) => uploads(scope as App, options));
}

/** These routes read the body as text, because only the lab reports where a text stops being JSON. */
function uploads(app: App, { library, studies, now }: ScenarioRoutesOptions): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async ({ headers }: FastifyRequest, body: Buffer) => decodeJsonBody(body, headers['content-type']),
  );
  const bodyLimit = limits.scenarioBodyBytes;
  // The schemas only document the API; the lab validates and reports more than a schema can.
  const validatorCompiler = () => () => true;

  app.post(
    '/api/scenarios',
    {
      bodyLimit,
      schema: {
        summary: 'Upload a scenario, or replace an uploaded scenario with the same id',
        tags,
        body: Scenario,
        response: { 201: Id, ...refusals(409, 422) },
      },
      validatorCompiler,
    },
    async (request, reply) => {
      const { id } = library.upload(textOf(request.body), now());
      return reply.code(201).header('location', `/api/scenarios/${id}`).send({ id });
    },
  );
  app.post(
    '/api/scenarios/validate',
    {
      bodyLimit,
      schema: {
        summary: 'Validate a scenario and estimate the size of a run',
        tags,
        querystring: Type.Object({ scale: Type.Optional(Scale) }, { additionalProperties: false }),
        body: Type.Unknown({
          description: 'A scenario; for any other document the answer lists its faults',
        }),
        response: { 200: ScenarioValidation, ...refusals(422) },
      },
      validatorCompiler: (route) =>
        route.httpPart === 'body' ? () => true : app.validatorCompiler!(route as never),
    },
    async (request) => validate(textOf(request.body), request.query.scale ?? 'quick', studies),
  );
}

function textOf(body: unknown): string {
  if (typeof body === 'string') return body;
  const message = 'The body is empty; a scenario as JSON is required';
  throw new ServerError('REQUEST_INVALID', {
    message,
    details: { errors: [{ path: '', message }] },
  });
}

function validate(text: string, scale: Scale, studies: StudyRegistry): ScenarioValidation {
  const parsed = parseScenario(text, studies);
  if (parsed.ok) {
    const { scenario } = parsed;
    return {
      valid: true,
      errors: [],
      more: false,
      plan: planFigures(scenario, scale, studies),
      load: planLoad(scenario, scale, { cores: availableParallelism(), studies }),
      diskBytesMax: diskBytesMax(scenario, scale, studies),
    };
  }
  const { line, column } = parsed.error.details as { line?: number; column?: number };
  return {
    valid: false,
    errors: parsed.faults,
    more: parsed.more,
    ...(line === undefined || column === undefined ? {} : { line, column }),
    plan: null,
    load: null,
    diskBytesMax: null,
  };
}
