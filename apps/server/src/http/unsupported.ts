/**
 * What the design's wire has and the engine does not do yet. It is refused by name, so that nobody takes a selector
 * that chose nothing for one that did.
 */
import { ServerError } from '../errors.ts';

interface Unsupported {
  fields: readonly string[];
  /** Values of fields that exist, by the field's path. */
  values?: Readonly<Record<string, readonly string[]>>;
}

const finishing: Unsupported = { fields: ['session'] };

const byRoute = new Map<string, Unsupported>([
  ['POST /api/queues', { fields: [], values: { '/kind': ['buffered'] } }],
  ['POST /api/queues/:queue/messages', { fields: ['session', 'expiresInMs', 'dedupKey'] }],
  ['POST /api/queues/:queue/dequeue', { fields: ['selector', 'session'] }],
  ['POST /api/queues/:queue/ack', finishing],
  ['POST /api/queues/:queue/nack', finishing],
  ['POST /api/queues/:queue/extend', finishing],
  ['POST /api/transactions', { fields: ['session', 'expiresInMs', 'dedupKey'] }],
  ['POST /api/queues/:queue/subscribers', { fields: ['selector'] }],
]);

export function isUnsupportedField(route: string, field: string): boolean {
  return byRoute.get(route)?.fields.includes(field) ?? false;
}

export function isUnsupportedValue(route: string, path: string, value: unknown): boolean {
  return byRoute.get(route)?.values?.[path]?.includes(value as string) ?? false;
}

/** `feature` in the caller's words: a field, a value, an address. */
export function unsupported(feature: string, details: Record<string, unknown> = {}): ServerError {
  return new ServerError('FEATURE_UNSUPPORTED', {
    sentence: `${feature} is not supported yet`,
    details: { feature, ...details },
  });
}

/** Addresses of the design that do nothing yet. */
export const unsupportedRoutes: readonly (readonly [
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
])[] = [
  ['PATCH', '/api/queues/:queue'],
  ['GET', '/api/compare'],
];
