/**
 * What the design's wire has and the engine does not do yet. It is refused by name, so that nobody takes a priority
 * that changed nothing for one that did.
 */
import { ServerError } from '../errors.ts';

interface Unsupported {
  fields: readonly string[];
  /** Values of fields that exist, by the field's path. */
  values?: Readonly<Record<string, readonly string[]>>;
}

const finishing: Unsupported = { fields: ['subscriber', 'session'] };

const byRoute = new Map<string, Unsupported>([
  ['POST /api/queues', { fields: [], values: { '/type': ['topic'], '/kind': ['buffered'] } }],
  [
    'POST /api/queues/:queue/messages',
    { fields: ['session', 'priority', 'delayMs', 'expiresInMs', 'recipients', 'dedupKey'] },
  ],
  ['POST /api/queues/:queue/dequeue', { fields: ['subscriber', 'selector', 'session'] }],
  ['POST /api/queues/:queue/ack', finishing],
  ['POST /api/queues/:queue/nack', finishing],
  ['POST /api/queues/:queue/extend', finishing],
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
  ['GET', '/api/queues/:queue/subscribers'],
  ['POST', '/api/queues/:queue/subscribers'],
  ['DELETE', '/api/queues/:queue/subscribers'],
  ['DELETE', '/api/queues/:queue/subscribers/:subscriber'],
  ['POST', '/api/transactions'],
  ['PUT', '/api/cluster/topology'],
  ['POST', '/api/cluster/instances/:instance/kill'],
  ['POST', '/api/cluster/instances/:instance/stop'],
  ['POST', '/api/cluster/instances/:instance/start'],
  ['GET', '/api/compare'],
];
