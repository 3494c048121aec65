/** Bodies that cost as much as a limit allows, and more: made from the schema of a route, so that a new route has its own. */
import { exampleOf, type JsonLimits, type JsonSchema } from '@shardlab/contract';

export interface WorstBody {
  /** "items of /messages: {}" */
  name: string;
  text: string;
  /** Where the first character is that a limit refuses; undefined if no limit of the structure refuses it. */
  excessAt: number | undefined;
}

export type Resolve = (ref: string) => JsonSchema;

/** A place of a document where values can be many, and the text around it. */
interface Place {
  path: string;
  before: string;
  after: string;
  isList: boolean;
  /** Any JSON may be there, which may be kept as text. */
  isFree?: boolean;
  max: number | undefined;
  /** A value that fits there. */
  example: string;
}

/** Bodies of at most `bytes`: each list and open object of the schema full of each kind of value, up to its limit and far beyond. */
export function* worstBodies(
  schema: JsonSchema,
  { bytes, limits, resolve }: { bytes: number; limits: JsonLimits; resolve: Resolve },
): Generator<WorstBody> {
  for (const place of placesOf(schema, resolve)) {
    for (const value of new Set([place.example, '{}', '0', '""', '[[]]', '"\\ud83d\\ude00"'])) {
      for (const max of new Set([place.max, undefined])) yield filled(place, { value, bytes, limits, max });
    }
  }
}

function filled(
  place: Place,
  {
    value,
    bytes,
    limits,
    max,
  }: { value: string; bytes: number; limits: JsonLimits; max: number | undefined },
): WorstBody {
  const { path, before, after, isList, isFree = false } = place;
  const allowed = place.max ?? (isList ? Number.POSITIVE_INFINITY : limits.fieldsMax);
  const around = valuesIn(before);
  const each = valuesIn(value);
  const items: string[] = [];
  let at = before.length;
  let excessAt: number | undefined;
  for (let index = 0; index < (max ?? Number.POSITIVE_INFINITY); index += 1) {
    const item = isList ? value : `"${index}":${value}`;
    if (at + item.length + 1 + after.length > bytes) break;
    if (index === allowed) excessAt ??= at;
    // Somewhere in this item: only the last of its values is sure to be too much.
    if (!isFree && around + each * (index + 1) > limits.valuesMax) excessAt ??= at + item.length;
    items.push(item);
    at += item.length + 1;
  }
  const where = path === '' ? 'the document' : path;
  return {
    name: `${items.length} × ${value.slice(0, 24)} in ${where}`,
    text: `${before}${items.join(',')}${after}`,
    excessAt,
  };
}

/** Values in a text, which may be unfinished. */
const valuesIn = (text: string): number =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{[]|[^\s{}[\],:"]+/g)].filter(
    ([, colon]) => colon === undefined,
  ).length;

/** In place of any document: what has many values, many levels, long texts, or a field twice. */
export const worstOfAny = (bytes: number, limits: JsonLimits): WorstBody[] =>
  [...anywhere(bytes - 64)].map(([name, text]) => ({ name, text, excessAt: firstExcess(text, limits) }));

function* anywhere(bytes: number): Generator<[name: string, text: string]> {
  const many = (part: string) => part.repeat(Math.floor(bytes / part.length));
  yield ['[', many('[')];
  yield ['{"a":', many('{"a":')];
  yield ['[{},', many('[{},')];
  for (const value of ['{}', '1', '""', '1e400', '{"a":{"b":[]}}']) {
    const list = many(`${value},`);
    yield [`list of ${value}`, `[${list}0]`];
  }
  yield ['spaces', many(' ')];
  yield ['text', `"${many('x').slice(2)}"`];
  yield ['escapes', `"${many('\\u0061').slice(6)}"`];
  yield ['surrogates', `"${many('\\ud83d\\ude00').slice(12)}"`];
  yield ['backslashes', `"${many('\\\\').slice(2)}"`];
  yield ['unfinished text', `"${many('\\"').slice(2)}`];
  yield ['a field twice', `{${many('"a":0,')}"a":0}`];
  const fields = Array.from({ length: Math.floor(bytes / 12) }, (_, index) => `"${index}":0`);
  yield ['fields', `{${fields.join(',')}}`];
  yield ['the last field again', `{${fields.slice(0, 40_000).join(',')},"39999":0}`];
  yield ['a number', many('9')];
}

/** Each list and open object that a document can have, in its first alternative that leads there. */
function* placesOf(
  given: JsonSchema,
  resolve: Resolve,
  at = { path: '', before: '', after: '' },
): Generator<Place> {
  const schema = given.$ref === undefined ? given : resolve(given.$ref);
  const { path, before, after } = at;
  for (const branch of schema.anyOf ?? []) yield* placesOf(branch, resolve, at);
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const field = JSON.stringify(name);
    yield* placesOf(member, resolve, {
      path: `${path}/${name}`,
      before: `${before}{${field}:`,
      after: `}${after}`,
    });
  }
  if (Object.keys(schema).every((keyword) => keyword === 'description')) {
    const list = { before: `${before}[`, after: `]${after}`, isList: true, max: undefined };
    yield { path, ...list, isFree: true, example: '1' };
  }
  const {
    maxItems,
    maxProperties,
    items,
    patternProperties = {},
    additionalProperties,
  } = schema as JsonSchema & { maxProperties?: number };
  if (items !== undefined) {
    const example = JSON.stringify(exampleOf(items, resolve));
    const [open, close] = [`${before}[`, `]${after}`];
    yield { path, before: open, after: close, isList: true, max: maxItems, example };
    yield* placesOf(items, resolve, { path: `${path}/0`, before: open, after: close });
  }
  const others = [...Object.values(patternProperties), additionalProperties].find(
    (each) => typeof each === 'object',
  );
  if (others === undefined) return;
  const example = JSON.stringify(exampleOf(others, resolve));
  yield { path, before: `${before}{`, after: `}${after}`, isList: false, max: maxProperties, example };
  yield* placesOf(others, resolve, { path: `${path}/k`, before: `${before}{"k":`, after: `}${after}` });
}

const tokens = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gy;

/** The first value or field that is too much, too deep or there already: a second scan, written for clarity. */
export function firstExcess(
  text: string,
  { valuesMax, depthMax, fieldsMax }: JsonLimits,
): number | undefined {
  const open: (Set<string> | undefined)[] = [];
  let values = 0;
  let expectsName = false;
  tokens.lastIndex = 0;
  for (let at = 0; at < text.length; ) {
    tokens.lastIndex = at;
    const token = tokens.exec(text)?.[0];
    if (token === undefined) {
      at += 1; // white space
      continue;
    }
    if (token === '}' || token === ']') open.pop();
    else if (token === ',') expectsName = open.at(-1) !== undefined;
    else if (token === ':') expectsName = false;
    else if (expectsName && token.startsWith('"')) {
      const names = open.at(-1)!;
      if (names.has(token) || names.size === fieldsMax) return at;
      names.add(token);
    } else {
      values += 1;
      if (values > valuesMax) return at;
      if (token === '{' || token === '[') {
        if (open.length === depthMax) return at;
        open.push(token === '{' ? new Set() : undefined);
        expectsName = token === '{';
      }
    }
    at = tokens.lastIndex;
  }
  return undefined;
}
