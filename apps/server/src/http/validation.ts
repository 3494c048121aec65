/** Validates requests against the contract's schemas and reports each fault with its path. */
import type { Fault } from '@shardlab/contract';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { ServerError } from '../errors.ts';
import { limits } from '../limits.ts';
import { isUnsupportedField, isUnsupportedValue, unsupported } from './unsupported.ts';

const options = { strict: true, verbose: true, removeAdditional: false, useDefaults: false } as const;
/** For paths and queries, which are text: numbers in them are converted. JSON bodies need no conversion. */
const coercingAjv = new Ajv({ ...options, allErrors: true, coerceTypes: true });
const allErrorsAjv = new Ajv({ ...options, allErrors: true });
const firstErrorAjv = new Ajv({ ...options, allErrors: false });

/** For most routes: reports all faults of a request at once. */
export const validateAllErrors: FastifySchemaCompiler<object> = compilerWith(allErrorsAjv);

/** For large bodies: reports the first fault only, because the list of all faults could be far larger than the body. */
export const validateFirstError: FastifySchemaCompiler<object> = compilerWith(firstErrorAjv);

function compilerWith(forBody: Ajv): FastifySchemaCompiler<object> {
  return ({ schema, method, url, httpPart }) => {
    const ajv = httpPart === 'body' ? forBody : coercingAjv;
    const validate: ValidateFunction = ajv.compile(schema);
    const route = `${method} ${url}`;
    return (value: unknown) => {
      if (validate(value)) return { value };
      return { error: toError(validate.errors ?? [], route, httpPart ?? 'body') };
    };
  };
}

function toError(errors: readonly ErrorObject[], route: string, part: string): ServerError {
  // A value that matches no member of a union also fails each member; only the union's own error is kept.
  const unions = errors.filter((error) => error.keyword === 'anyOf');
  const kept = errors.filter(
    (error) =>
      !unions.some((union) => union !== error && error.schemaPath.startsWith(`${union.schemaPath}/`)),
  );
  const features = kept.map((error) => unsupportedFeature(error, route));
  const [feature] = features;
  if (feature !== undefined && features.every((unsupportedField) => unsupportedField !== undefined)) {
    const fields = [...new Set(features.map((unsupportedField) => unsupportedField?.path))].slice(
      0,
      limits.faultsMax,
    );
    return unsupported(feature.name, { fields });
  }
  const faults = kept.slice(0, limits.faultsMax).map(toFault);
  const [head] = faults;
  const more = kept.length > 1 ? ` (and ${kept.length - 1} more)` : '';
  const partName = { querystring: 'query', params: 'path', headers: 'header', body: 'body' }[part] ?? part;
  const sentence = `The ${partName} is not valid: ${head?.path ? `${head.path}: ` : ''}${head?.message}${more}`;
  return new ServerError('REQUEST_INVALID', { message: sentence, details: { errors: faults } });
}

function unsupportedFeature(error: ErrorObject, route: string): { name: string; path: string } | undefined {
  if (error.keyword === 'additionalProperties') {
    const field = String(error.params.additionalProperty);
    if (!isUnsupportedField(route, field)) return undefined;
    return { name: `The field "${field}"`, path: `${error.instancePath}/${field}` };
  }
  if (!isUnsupportedValue(route, error.instancePath, error.data)) return undefined;
  return {
    name: `The value "${String(error.data)}" of ${error.instancePath.slice(1)}`,
    path: error.instancePath,
  };
}

function toFault(error: ErrorObject): Fault {
  const { instancePath, params } = error;
  const at = (message: string, path = instancePath): Fault => ({ path, message });
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const { properties = {} } = error.parentSchema as { properties?: Record<string, unknown> };
      const known = Object.keys(properties).map((field) => `"${field}"`);
      return at(
        `Unknown field "${truncate(name)}"; the fields here are ${known.join(', ')}`,
        `${instancePath}/${pointer(name)}`,
      );
    }
    case 'required': {
      const name = String(params.missingProperty);
      return at(`The field "${name}" is missing`, `${instancePath}/${pointer(name)}`);
    }
    case 'type':
      return at(`Must be of type ${[params.type].flat().join(' or ')}, not ${kindOf(error.data)}`);
    case 'const':
      return at(`Must be ${JSON.stringify(params.allowedValue)}`);
    case 'anyOf': {
      const branches = (error.schema as { const?: unknown; type?: string }[]).map((branch) =>
        branch.const === undefined ? `of type ${branch.type ?? 'any'}` : JSON.stringify(branch.const),
      );
      return at(`Must be ${branches.join(' or ')}`);
    }
    default: {
      const message = error.message ?? error.keyword;
      return at(message.charAt(0).toUpperCase() + message.slice(1));
    }
  }
}

const truncate = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
const pointer = (name: string) => truncate(name).replaceAll('~', '~0').replaceAll('/', '~1');
const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
