/**
 * Compares every response of every Fastify app of this process with the API's description: its status must be documented,
 * and its body must fit the schema. `start-app.ts` fails the test in which a difference was seen: a hook of this module would be one
 * of the first file only that a worker takes. Not compared are
 * - what the description does not list: the dashboard's files and `/openapi.json`;
 * - streams: events, payloads and exports are sent in parts, and tests of their own compare them with the contract;
 * - bytes that are no HTTP request, which no route sees (`client-errors.ts`);
 * - servers in processes of their own, which run the same routes; `npm run conformance` tests such a one.
 */
import { subscribe } from 'node:diagnostics_channel';
import { ErrorBody } from '@shardlab/contract';
import { Ajv2020 as Ajv, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { expect } from 'vitest';

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const errorId = 'Error';
ajv.addSchema({ ...ErrorBody, $id: errorId });

const differences: string[] = [];

subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook('onSend', async (request, reply, payload) => {
    const difference = differenceOf(request, reply, payload);
    if (difference !== undefined) {
      differences.push(
        `${request.method} ${request.url.slice(0, 200)} answers ${reply.statusCode}: ${difference}`,
      );
    }
  });
});

export function expectAnswersAsDescribed(): void {
  expect(takeDifferences(), 'responses that differ from the description of the API').toEqual([]);
}

/** Returns the differences that were found since the last call, as sentences. */
export function takeDifferences(): string[] {
  return differences.splice(0);
}

interface Described {
  content?: Record<string, { schema: AnySchema }>;
}

function differenceOf(
  { is404, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): string | undefined {
  const { schema } = routeOptions;
  if (is404) return reply.statusCode < 400 ? undefined : bodyDifference({ $ref: errorId }, payload);
  if (schema === undefined || schema.hide === true) return undefined;
  const described = (schema.response as Record<number, Described & AnySchema>)[reply.statusCode];
  if (described === undefined) return 'the status is not documented';
  if ((described as { type?: unknown }).type === 'null') {
    return payload === 'null' ? undefined : 'a body is not documented'; // Fastify sends no body then
  }
  const type = String(reply.getHeader('content-type') ?? '').split(';')[0]!;
  const { content = { 'application/json': { schema: described } } } = described;
  const media = content[type];
  if (media === undefined) return `the content type "${type}" is not documented`;
  return type === 'application/json' ? bodyDifference(media.schema, payload) : undefined;
}

function bodyDifference(schema: AnySchema, payload: unknown): string | undefined {
  if (typeof payload !== 'string') return undefined; // a stream
  const validate = compiled(schema);
  if (validate(JSON.parse(payload))) return undefined;
  return `${ajv.errorsText(validate.errors)} in ${payload.slice(0, 500)}`;
}

const validators = new WeakMap<object, ValidateFunction>();

function compiled(schema: AnySchema): ValidateFunction {
  const known = validators.get(schema as object);
  if (known !== undefined) return known;
  const validate = ajv.compile(schema);
  validators.set(schema as object, validate);
  return validate;
}
