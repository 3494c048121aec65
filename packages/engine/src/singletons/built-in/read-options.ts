/** Reads the options of a built-in service. Each throws `SERVICE_SPEC_INVALID`. */
import { QueueError } from '../../api/errors.ts';
import type { Json } from '../../api/service.ts';

export function invalidOption(message: string, cause?: unknown): QueueError {
  return new QueueError('SERVICE_SPEC_INVALID', { message, ...(cause !== undefined && { cause }) });
}

/** Refuses what is no object, and names that are not among `known`. */
export function readOptions(service: string, options: Json, known: readonly string[]): Record<string, Json> {
  if (options === null || typeof options !== 'object' || Array.isArray(options))
    throw invalidOption(`The options of a ${service} are an object`);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalidOption(`A ${service} has no option ${unknown}; it has ${known.join(', ')}`);
  return { ...(options as Record<string, Json>) };
}

export function readText(options: Record<string, Json>, name: string): string {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidOption(`${name} must be a text`);
}

export function readNumber(
  options: Record<string, Json>,
  name: string,
  { least, most, usual }: { least: number; most: number; usual: number },
): number {
  const value = options[name] ?? usual;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw invalidOption(`${name} must be ${least} to ${most}`);
}
