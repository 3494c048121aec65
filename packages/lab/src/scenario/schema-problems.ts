/** Converts ajv errors into faults that a person can act on: one sentence per fault, with its JSON pointer. */
import type { ErrorObject } from 'ajv';
import { nearestName } from './nearest-name.ts';

export interface ScenarioProblem {
  /** JSON pointer of the faulty value; an empty string means the whole document. */
  path: string;
  message: string;
}

interface SchemaNode {
  const?: unknown;
  type?: string;
  required?: string[];
  anyOf?: SchemaNode[];
  properties?: Record<string, SchemaNode>;
}

/** One entry per fault, ordered by path. */
export function schemaProblems(errors: readonly ErrorObject[]): ScenarioProblem[] {
  // A value that matches no member of a union also fails each member; only the union's own error is kept.
  const unions = errors.filter((error) => error.keyword === 'anyOf');
  const kept = errors.filter(
    (error) =>
      !unions.some((union) => union !== error && error.schemaPath.startsWith(`${union.schemaPath}/`)),
  );
  return kept.map(toProblem).sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function toProblem(error: ErrorObject): ScenarioProblem {
  const { instancePath, params } = error;
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const known = Object.keys((error.parentSchema as SchemaNode).properties ?? {});
      const nearest = nearestName(name, known);
      const hint =
        nearest === null ? `the fields here are ${list(known)}` : `did you mean ${quoted(nearest)}?`;
      return {
        path: `${instancePath}/${pointerPart(name)}`,
        message: `Unknown field ${quoted(truncate(name))}; ${hint}`,
      };
    }
    case 'required': {
      const name = String(params.missingProperty);
      return {
        path: `${instancePath}/${pointerPart(name)}`,
        message: `The field ${quoted(name)} is missing`,
      };
    }
    case 'type':
      return {
        path: instancePath,
        message: `Must be ${article(String(params.type))}, ${describeValue(error.data)}`,
      };
    case 'const':
      return {
        path: instancePath,
        message: `Must be ${JSON.stringify(params.allowedValue)}, ${describeValue(error.data)}`,
      };
    case 'anyOf': {
      const branches = (error.parentSchema as SchemaNode).anyOf ?? [];
      const values = branches.map((branch) => JSON.stringify(branch.const));
      const message = branches.some((branch) => branch.const === undefined)
        ? `Must be ${branches.map(shape).join(', or ')}`
        : `Must be one of ${values.join(', ')}, ${describeValue(error.data)}`;
      return { path: instancePath, message };
    }
    case 'minimum':
    case 'exclusiveMinimum':
    case 'maximum': {
      const relation = { minimum: 'at least', exclusiveMinimum: 'more than', maximum: 'at most' }[
        error.keyword
      ];
      return {
        path: instancePath,
        message: `Must be ${relation} ${count(params.limit)}, ${describeValue(error.data)}`,
      };
    }
    case 'minItems':
      return { path: instancePath, message: `Must have at least ${count(params.limit)} item` };
    case 'maxItems':
      return { path: instancePath, message: `Must have at most ${count(params.limit)} items` };
    case 'minLength':
      return { path: instancePath, message: 'Must not be empty' };
    case 'maxLength':
      return { path: instancePath, message: `Must be at most ${count(params.limit)} characters long` };
    case 'uniqueItems': {
      const [first, again] = [Number(params.i), Number(params.j)].sort((a, b) => a - b);
      return {
        path: `${instancePath}/${again}`,
        message: `Repeats the value at index ${first}; the values must differ`,
      };
    }
    case 'pattern':
      return {
        path: instancePath,
        message: `Must match ${String(params.pattern)}, ${describeValue(error.data)}`,
      };
    default:
      return { path: instancePath, message: `Is not valid: ${error.message ?? error.keyword}` };
  }
}

/** Describes one member of a union: a value, an object with its fields, or a type. */
const shape = ({ const: value, type, required }: SchemaNode) =>
  value !== undefined
    ? JSON.stringify(value)
    : required === undefined
      ? String(type)
      : `an object with ${list(required)}`;
const quoted = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => names.map(quoted).join(', ');
const count = (limit: unknown) => Number(limit).toLocaleString('en-US');
const article = (type: string) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);
const truncate = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
const pointerPart = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');

function describeValue(value: unknown): string {
  if (value === null) return 'not null';
  if (Array.isArray(value)) return 'not an array';
  if (typeof value === 'object') return 'not an object';
  return `not ${truncate(JSON.stringify(value) ?? typeof value)}`;
}
