/**
 * Features of the designed API that the engine does not support yet. They are refused by name, so that no client
 * believes, for example, that a selector was applied when it was ignored.
 */
import { QueueError } from '@shardlab/engine';

interface Unsupported {
  fields: readonly string[];
  /** Unsupported values of supported fields, by the field's path. */
  values?: Readonly<Record<string, readonly string[]>>;
}

const sessionField: Unsupported = { fields: ['session'] };

/** By method and URL pattern of the route. */
export const unsupportedByRoute: ReadonlyMap<string, Unsupported> = new Map<string, Unsupported>([
  ['POST /api/queues', { fields: [], values: { '/kind': ['buffered'] } }],
  ['POST /api/queues/:queue/messages', { fields: ['session', 'expiresInMs', 'dedupKey'] }],
  ['POST /api/queues/:queue/dequeue', { fields: ['selector', 'session'] }],
  ['POST /api/queues/:queue/ack', sessionField],
  ['POST /api/queues/:queue/nack', sessionField],
  ['POST /api/queues/:queue/extend', sessionField],
  ['POST /api/transactions', { fields: ['session', 'expiresInMs', 'dedupKey'] }],
  ['POST /api/queues/:queue/subscribers', { fields: ['selector'] }],
]);

export function isUnsupportedField(route: string, field: string): boolean {
  return unsupportedByRoute.get(route)?.fields.includes(field) ?? false;
}

export function isUnsupportedValue(route: string, path: string, value: unknown): boolean {
  return unsupportedByRoute.get(route)?.values?.[path]?.includes(value as string) ?? false;
}

/** `feature` begins the sentence: "The field ...", "The value ...", a route. */
export function unsupported(feature: string, details: Record<string, unknown> = {}): QueueError {
  return new QueueError('FEATURE_UNSUPPORTED', {
    message: `${feature} is not supported yet`,
    details: { feature, ...details },
  });
}

/** The error for adding a service to a running cluster. */
export function addedWhileRunning(): QueueError {
  return new QueueError('FEATURE_UNSUPPORTED', {
    message:
      'A service cannot be added while the cluster runs, because every process gets the list of services when it starts. Add it to the file that SERVICES names, and start the server again',
    details: { feature: 'POST /api/services' },
  });
}

/** Routes of the designed API that are not supported yet. */
export const unsupportedRoutes: readonly (readonly [
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
])[] = [['GET', '/api/compare']];
