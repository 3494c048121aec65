/**
 * Validates requests against the contract's schemas. Ajv decides, and stops at the first fault of a body; the faults of
 * a refused request are then listed by `findFaults`, whose cost is bounded whatever the body is.
 */
import {
  type FoundFaults,
  faultInWords,
  faultsListedMax,
  findFaults,
  type SchemaFault,
} from '@shardlab/contract';
import type { QueueError } from '@shardlab/engine';
import { Ajv, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { ServerError } from '../errors.ts';
import { patternEngine } from './base64-text.ts';
import { isUnsupportedField, isUnsupportedValue, unsupported } from './unsupported.ts';

const options = {
  strict: true,
  removeAdditional: false,
  useDefaults: false,
  code: { regExp: patternEngine },
} as const;
/** JSON bodies need no conversion. */
const bodyAjv = new Ajv(options);
/**
 * For paths and queries, a few kilobytes of text. It converts their numbers, and continues after a fault, so that `findFaults`
 * gets the rest converted too.
 */
const textAjv = new Ajv({ ...options, allErrors: true, coerceTypes: true });

/**
 * Refuses with `REQUEST_INVALID`, or `FEATURE_UNSUPPORTED`. The schema is compiled at the route's first request: all at once
 * would be half of the server's start.
 */
export const validateRequest: FastifySchemaCompiler<object> = ({
  schema,
  method,
  url,
  httpPart = 'body',
}) => {
  let compiled: ValidateFunction | undefined;
  const route = `${method} ${url}`;
  return (value: unknown) => {
    compiled ??= (httpPart === 'body' ? bodyAjv : textAjv).compile(schema);
    if (compiled(value)) return { value };
    return { error: toError(findFaults(schema, value), route, httpPart) };
  };
};

const partNames: Readonly<Record<string, string>> = {
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

function toError({ faults, more }: FoundFaults, route: string, part: string): ServerError | QueueError {
  const features = faults.map((fault) => unsupportedFeature(fault, route));
  const [feature] = features;
  if (feature !== undefined && !features.includes(undefined)) {
    return unsupported(feature, { fields: [...new Set(faults.map(({ path }) => path))] });
  }
  const errors = faults.map(({ path, message }) => ({ path, message }));
  const [first = { path: '', message: 'It does not fit its description' }] = errors;
  const others = more ? `more than ${faultsListedMax - 1} more` : errors.length - 1;
  const sentence = `The ${partNames[part] ?? part} is not valid: ${faultInWords(first)}`;
  return new ServerError('REQUEST_INVALID', {
    message: errors.length > 1 ? `${sentence} (and ${others}${more ? '' : ' more'})` : sentence,
    details: { errors, ...(more && { more }) },
  });
}

/**
 * The unsupported feature that a faulty value would use, as the beginning of a sentence; undefined if the fault is not about a
 * feature.
 */
function unsupportedFeature({ path, field, value }: SchemaFault, route: string): string | undefined {
  if (field !== undefined) {
    return isUnsupportedField(route, field) ? `The field "${field}"` : undefined;
  }
  if (!isUnsupportedValue(route, path, value)) return undefined;
  return `The value "${String(value)}" of ${path.slice(1)}`;
}
