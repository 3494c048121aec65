/** Validates the definitions of services. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Json, ServiceSpec } from '../api/service.ts';
import { assertFields } from './call-arguments.ts';
import { serviceFields } from './call-fields.ts';
import type { InstanceId } from './ids.ts';

const namePattern = new RegExp(`^[A-Za-z0-9._-]{1,${limits.serviceNameCharactersMax}}$`);

/** Throws `SERVICE_SPEC_INVALID`. */
export function validateServices(specs: readonly ServiceSpec[]): void {
  if (!Array.isArray(specs)) throw invalid('services is an array');
  if (specs.length > limits.servicesMax) throw invalid(`There are more than ${limits.servicesMax} services`);
  const names = new Set<string>();
  for (const spec of specs) {
    assertFields(spec, serviceFields);
    const { name, preferred = 1, module } = spec;
    if (typeof name !== 'string' || !namePattern.test(name)) {
      throw invalid(
        `The name of a service has 1 to ${limits.serviceNameCharactersMax} letters, digits, '.', '_' and '-', not ${JSON.stringify(name)}`,
      );
    }
    if (names.has(name)) throw invalid(`Two services are named ${name}`);
    names.add(name);
    if (!Number.isInteger(preferred) || preferred < 1 || preferred > limits.instancesMax)
      throw invalid(`The preferred instance of ${name} must be 1 to ${limits.instancesMax}`);
    if (typeof module !== 'string' || module === '') throw invalid(`The service ${name} has no module`);
  }
}

export function servicesOf(specs: readonly ServiceSpec[], instance: InstanceId): ServiceSpec[] {
  return specs.filter(({ preferred = 1 }) => preferred === instance);
}

/** JSON text of a value. Throws `code` if it has none, or if that is longer than `bytesMax`. */
export function toJsonText(
  value: Json | undefined,
  { bytesMax, code }: { bytesMax: number; code: 'SERVICE_CALL_INVALID' | 'SERVICE_STATE_TOO_LARGE' },
): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new QueueError('SERVICE_CALL_INVALID', { message: 'The value is not JSON', cause });
  }
  if (text === undefined) throw new QueueError('SERVICE_CALL_INVALID', { message: 'The value is not JSON' });
  if (Buffer.byteLength(text) > bytesMax) throw new QueueError(code, { details: { bytesMax } });
  return text;
}

function invalid(message: string): QueueError {
  return new QueueError('SERVICE_SPEC_INVALID', { message });
}
