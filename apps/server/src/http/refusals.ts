/**
 * The error responses of the API's description. Responses that every route can send, or every route with a body or a path
 * parameter, are added here; a route lists only what is particular to it: `response: { 200: Run, ...refusals(409) }`.
 */
import { ErrorBody } from '@shardlab/contract';
import Type from 'typebox';
import type { App } from './app-types.ts';

const meanings = {
  400: 'The request is malformed, or does not fit this description',
  401: 'The server has a key, and the request carries neither the key nor the cookie of a session',
  403: 'The Host header does not name this server, or the request comes from a page of another origin',
  404: 'What the path, the query or the body names does not exist',
  408: 'The body did not arrive in time, or too slowly',
  409: 'The state of what the request concerns does not allow it',
  413: 'The body, or the requested data, exceeds a limit in bytes or time',
  415: 'The body is not of a content type of this description, in UTF-8, or has a Content-Encoding',
  422: 'The request fits this description, and is refused by a rule that JSON Schema cannot express; the message names it',
  429: 'Too many requests, streams or bytes are in progress, or too many wrong keys were tried; see Retry-After',
  431: 'The URL and the headers have more than 16 KiB together',
  500: 'The server failed, or the storage; its log has the details',
  503: 'Not available at this moment; see Retry-After',
} as const;

export type RefusalStatus = keyof typeof meanings;

/** The schema that all error responses share, by name. */
const errorSchema = { ...ErrorBody, $id: 'Error' } as const;

export const errorReference = { $ref: `${errorSchema.$id}#` } as const;

const retryAfter = {
  'Retry-After': Type.Integer({ minimum: 0, description: 'Seconds' }),
} as const;
const headersOf: { readonly [status: number]: object } = {
  401: { 'WWW-Authenticate': Type.String() },
  429: retryAfter,
  503: retryAfter,
};

/**
 * Error responses for the `response` schema of a route. They are typed as a plain object, so that handlers are typed by their
 * successful response alone.
 */
export function refusals(...statuses: RefusalStatus[]): object {
  return Object.fromEntries(statuses.map((status) => [status, refusal(status)]));
}

/** Refusals of routes on one queue: it may be missing, stopped, converting or dropped, or of another kind. */
export const queueRefusals = refusals(404, 409, 422);

function refusal(status: RefusalStatus): object {
  return {
    description: meanings[status],
    ...(headersOf[status] !== undefined && { headers: headersOf[status] }),
    ...contentOf({ 'application/json': errorReference }),
  };
}

/** Bodies of a response by content type, where JSON is not the only one. */
export function contentOf(schemas: Readonly<Record<string, object>>): object {
  const content = Object.entries(schemas).map(([type, schema]) => [type, { schema }]);
  return { content: Object.fromEntries(content) };
}

const event = Type.Object({
  event: Type.String({ description: 'The type of the event' }),
  data: Type.String({ contentMediaType: 'application/json' }),
  id: Type.Optional(Type.String({ description: 'For Last-Event-ID' })),
});

/** Server-sent events; the contract has the schemas of their data. */
export const eventStream = {
  description: 'Server-sent events, each of this schema',
  ...contentOf({ 'text/event-stream': event }),
};

const ofAll: readonly RefusalStatus[] = [400, 401, 403, 429, 431, 500, 503];
const ofBodies: readonly RefusalStatus[] = [408, 413, 415];
const ofParameters: readonly RefusalStatus[] = [404];

/** Must be called before the routes are added. */
export function describeRefusals(app: App): void {
  app.addSchema(errorSchema);
  app.addHook('onRoute', (route) => {
    const { schema, url } = route;
    if (schema === undefined || schema.hide === true) return;
    const statuses = [
      ...ofAll,
      ...(schema.body === undefined ? [] : ofBodies),
      ...(/\/:/.test(url) ? ofParameters : []),
    ];
    schema.response = { ...refusals(...statuses), ...(schema.response as object) };
  });
}
