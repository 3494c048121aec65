/** Reads the file that `SERVICES` names: the singleton services of the cluster. */
import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import type { Json, ServiceSpec } from '@shardlab/engine';
import { ServerError } from './errors.ts';

const known = ['name', 'preferred', 'module', 'options'];

/**
 * The file is `{"services": [{"name", "preferred", "module", "options"}]}`; a module that begins with `./` or `../` is relative to the
 * file. Which names and modules there may be, the engine says when it opens. Throws `CONFIG_INVALID`.
 */
export function readServices(path: string): ServiceSpec[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw invalid(path, `cannot be read as JSON: ${(cause as Error).message}`, cause);
  }
  const services = isObject(content) && Object.keys(content).length === 1 ? content.services : undefined;
  if (!Array.isArray(services)) throw invalid(path, 'must be {"services": [...]}');
  return services.map((service: unknown) => readService(path, service));
}

function readService(path: string, service: unknown): ServiceSpec {
  if (!isObject(service)) throw invalid(path, 'has a service that is no object');
  const unknown = Object.keys(service).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalid(path, `has a service with ${unknown}; it may have ${known.join(', ')}`);
  const { name, preferred, module, options } = service;
  if (typeof name !== 'string' || typeof module !== 'string')
    throw invalid(path, 'has a service whose name or module is no text');
  if (preferred !== undefined && !Number.isInteger(preferred))
    throw invalid(path, `has the service ${name} whose preferred instance is no number`);
  return {
    name,
    module: /^\.\.?\//.test(module) && !isAbsolute(module) ? resolve(dirname(path), module) : module,
    ...(preferred !== undefined && { preferred: preferred as number }),
    ...(options !== undefined && { options: options as Json }),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: string, what: string, cause?: unknown): ServerError {
  return new ServerError('CONFIG_INVALID', {
    message: `SERVICES=${path} ${what}`,
    ...(cause !== undefined && { cause }),
  });
}
