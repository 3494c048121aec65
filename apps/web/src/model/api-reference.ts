/** The API's description (OpenAPI 3.1) as the groups, calls and rows that a page shows. */
import { exampleOf, type JsonSchema } from '@shardlab/contract';

/** The part of the description that is shown. */
export interface OpenApi {
  info: { title: string; version: string; description?: string };
  tags?: readonly { name: string; description?: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  components?: { schemas?: Readonly<Record<string, JsonSchema>> };
}

interface OpenApiOperation {
  summary?: string;
  description?: string;
  tags?: readonly string[];
  parameters?: readonly OpenApiParameter[];
  requestBody?: { required?: boolean; content?: OpenApiContent };
  responses?: Readonly<Record<string, OpenApiResponse>>;
}

interface OpenApiParameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: JsonSchema;
  example?: string;
}

type OpenApiContent = Readonly<Record<string, { schema?: JsonSchema }>>;

interface OpenApiResponse {
  description?: string;
  content?: OpenApiContent;
}

export interface ApiGroup {
  name: string;
  description: string;
  calls: ApiCall[];
}

export interface ApiCall {
  /** "post-api-queues-queue-messages": part of an address. */
  id: string;
  /** HTTP method in capitals. */
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters: ApiParameter[];
  /** One for each content type. */
  bodies: ApiBody[];
  bodyRequired: boolean;
  answers: ApiAnswer[];
  curl: string;
}

export interface ApiParameter {
  row: SchemaRow;
  /** path, query or header. */
  place: string;
}

export interface ApiBody {
  type: string;
  rows: SchemaRow[];
  /** Type of the whole: "object", "array of …". */
  words: string;
  description: string;
}

export interface ApiAnswer {
  status: string;
  description: string;
  bodies: ApiBody[];
}

/** A property, a parameter or an alternative. */
export interface SchemaRow {
  name: string;
  required: boolean;
  /** The type and its bounds, in words. */
  type: string;
  description: string;
  rows: SchemaRow[];
}

type Resolve = (ref: string) => JsonSchema;

const methods = ['get', 'post', 'put', 'delete', 'patch'];
const others = 'other';

/** Groups in the order of the description's tags; what has no tag of these comes last. `origin` is that of the examples. */
export function apiGroups(api: OpenApi, origin: string, hasKey: boolean): ApiGroup[] {
  const resolve: Resolve = (ref) => api.components?.schemas?.[ref.split('/').at(-1)!] ?? {};
  const byTag = new Map<string, ApiCall[]>();
  for (const [path, operations] of Object.entries(api.paths)) {
    for (const method of methods) {
      const operation = operations[method];
      if (operation === undefined) continue;
      const tag = operation.tags?.[0] ?? others;
      const call = callOf({ method, path, operation, resolve, origin, hasKey });
      byTag.set(tag, [...(byTag.get(tag) ?? []), call]);
    }
  }
  const known = api.tags ?? [];
  const rest = [...byTag.keys()].filter((name) => known.every((tag) => tag.name !== name));
  return [...known, ...rest.map((name) => ({ name, description: '' }))].flatMap(
    ({ name, description = '' }) => {
      const calls = byTag.get(name);
      return calls === undefined ? [] : [{ name, description, calls }];
    },
  );
}

/** The calls of which method, path, summary, group or a parameter contain every word. */
export function searchApi(groups: readonly ApiGroup[], text: string): ApiGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return groups.flatMap((group) => {
    const calls = group.calls.filter(({ method, path, summary, parameters, bodies }) => {
      const names = [...parameters.map(({ row }) => row), ...bodies.flatMap(({ rows }) => rows)];
      const all = [method, path, summary, group.name, ...names.map(({ name }) => name)].join(' ');
      return words.every((word) => all.toLowerCase().includes(word));
    });
    return calls.length === 0 ? [] : [{ ...group, calls }];
  });
}

export const countCalls = (groups: readonly ApiGroup[]): number =>
  groups.reduce((sum, { calls }) => sum + calls.length, 0);

interface CallParts {
  method: string;
  path: string;
  operation: OpenApiOperation;
  resolve: Resolve;
  origin: string;
  hasKey: boolean;
}

function callOf(parts: CallParts): ApiCall {
  const { method, path, operation, resolve } = parts;
  const { summary = '', description = '', parameters = [], requestBody, responses = {} } = operation;
  return {
    id: `${method}-${path.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')}`,
    method: method.toUpperCase(),
    path,
    summary,
    description,
    parameters: parameters.map(({ name, in: place, required = false, description: about, schema = {} }) => ({
      place,
      row: {
        ...rowOf(name, schema, resolve, required),
        ...(about === undefined ? {} : { description: about }),
      },
    })),
    bodies: bodiesOf(requestBody?.content, resolve),
    bodyRequired: requestBody?.required === true,
    answers: Object.entries(responses).map(([status, { description: about = '', content }]) => ({
      status,
      description: about === 'Default Response' ? '' : about,
      bodies: bodiesOf(content, resolve),
    })),
    curl: curlOf(parts),
  };
}

function bodiesOf(content: OpenApiContent = {}, resolve: Resolve): ApiBody[] {
  return Object.entries(content).map(([type, { schema = {} }]) => {
    const { description = '' } = resolved(schema, resolve);
    return { type, rows: rowsOf(schema, resolve), words: typeInWords(schema, resolve), description };
  });
}

const resolved = (schema: JsonSchema, resolve: Resolve): JsonSchema =>
  schema.$ref === undefined ? schema : resolve(schema.$ref);

/** Deeper than this a schema is only named: examples of it are in the contract. */
const depthMax = 6;

function rowOf(name: string, given: JsonSchema, resolve: Resolve, required: boolean, depth = 0): SchemaRow {
  const schema = resolved(given, resolve);
  return {
    name,
    required,
    type: typeInWords(schema, resolve),
    description: schema.description ?? '',
    rows: depth < depthMax ? rowsOf(schema, resolve, depth + 1) : [],
  };
}

/** The properties of an object, of the items of a list, or of the alternatives that have some. */
function rowsOf(given: JsonSchema, resolve: Resolve, depth = 0): SchemaRow[] {
  const schema = resolved(given, resolve);
  if (schema.properties !== undefined) {
    return Object.entries(schema.properties).map(([name, property]) =>
      rowOf(name, property, resolve, schema.required?.includes(name) ?? false, depth),
    );
  }
  if (schema.items !== undefined) return rowsOf(schema.items, resolve, depth);
  const [values] = Object.values(schema.patternProperties ?? {});
  if (values !== undefined) return rowsOf(values, resolve, depth);
  if (typeof schema.additionalProperties === 'object')
    return rowsOf(schema.additionalProperties, resolve, depth);
  const alternatives = (schema.anyOf ?? schema.oneOf ?? []).map((each) => rowsOf(each, resolve, depth));
  const withRows = alternatives.filter((rows) => rows.length > 0);
  if (withRows.length <= 1) return withRows[0] ?? [];
  return withRows.map((rows, index) => ({
    name: `alternative ${index + 1}`,
    required: false,
    type: 'object',
    description: '',
    rows,
  }));
}

/** "integer, 1 to 16", "list of text, 1 to 20", "sharded or unsharded", "object or null". */
export function typeInWords(given: JsonSchema, resolve: Resolve): string {
  const schema = resolved(given, resolve);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' or ');
  const alternatives = schema.anyOf ?? (schema.type === undefined ? schema.oneOf : undefined);
  if (alternatives !== undefined && schema.type === undefined)
    return [...new Set(alternatives.map((each) => typeInWords(each, resolve)))].join(' or ');
  const [type] = [schema.type].flat();
  switch (type) {
    case 'array': {
      const items = typeInWords(schema.items ?? {}, resolve);
      return ['list of '.concat(items), rangeOf(schema.minItems, schema.maxItems)].filter(Boolean).join(', ');
    }
    case 'object': {
      const [values] = Object.values(schema.patternProperties ?? {});
      const any = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : values;
      if (schema.properties === undefined && any !== undefined)
        return `object with any names of ${typeInWords(any, resolve)}`;
      return 'object';
    }
    case 'string': {
      const kind = schema.contentEncoding === 'base64' ? 'text in base64' : 'text';
      const length = rangeOf(schema.minLength, schema.maxLength, ' characters');
      return [kind, length].filter(Boolean).join(', ');
    }
    case 'integer':
    case 'number': {
      const least = schema.minimum ?? schema.exclusiveMinimum;
      const range = rangeOf(least, schema.maximum);
      return [type, schema.exclusiveMinimum === undefined ? range : `above ${least}`]
        .filter(Boolean)
        .join(', ');
    }
    case undefined:
      return schema.properties === undefined ? 'any JSON' : 'object';
    default:
      return type;
  }
}

function rangeOf(least: number | undefined, most: number | undefined, unit = ''): string {
  const text = (value: number) => value.toLocaleString('en-US');
  if (least !== undefined && most !== undefined) return `${text(least)} to ${text(most)}${unit}`;
  if (most !== undefined) return `at most ${text(most)}${unit}`;
  return least === undefined ? '' : `at least ${text(least)}${unit}`;
}

/** Values of path parameters in examples. */
const pathExamples: Readonly<Record<string, string>> = {
  queue: 'parcels',
  subscriber: 'mail',
  instance: '1',
  service: 'clock',
};

/** Longer bodies are read from a file. */
const bodyCharactersMax = 400;

/** A call with what it requires, for a shell. */
function curlOf({ method, path, operation, resolve, origin, hasKey }: CallParts): string {
  const ofOwn = new Map(operation.parameters?.map(({ name, example }) => [name, example]));
  const url = path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => ofOwn.get(name) ?? pathExamples[name] ?? name.toUpperCase(),
  );
  const query = (operation.parameters ?? [])
    .filter(({ in: place, required }) => place === 'query' && required === true)
    .map(({ name, schema = {} }) => {
      const value = exampleOf(schema, resolve, name);
      return `${name}=${encodeURIComponent(String(value))}`;
    });
  const address = `${origin}${url}${query.length === 0 ? '' : `?${query.join('&')}`}`;
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const lines = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} '${address}'`,
    ...(hasKey ? [`-H "Authorization: Bearer $SHARDLAB_KEY"`] : []),
  ];
  if (type !== undefined) {
    lines.push(`-H 'content-type: ${type}'`);
    const isJson = type === 'application/json';
    const body = isJson ? JSON.stringify(exampleOf(content?.schema ?? {}, resolve)) : '';
    lines.push(
      isJson && body.length <= bodyCharactersMax
        ? `-d '${body.replaceAll("'", "'\\''")}'`
        : `--data-binary @${isJson ? 'body.json' : 'body'}`,
    );
  }
  return lines.join(' \\\n  ');
}
