/**
 * Lists the faults of a value against one of the contract's schemas: one sentence per fault, with its JSON pointer.
 * Each value is visited once for each schema that it is compared with, and the search stops at a number of faults, so
 * its cost is at most linear in the size of the value. Validators that list every fault are not: a list of all faults
 * can be far longer than the value, and ajv compares each item of an array with each other for `uniqueItems`.
 */
import { nearestName } from './nearest-name.ts';
import { patternInWords } from './patterns.ts';
import { visibleText } from './visible-text.ts';

export interface SchemaFault {
  /** JSON pointer of the faulty value, or of the missing or unknown field; empty for the whole document. */
  path: string;
  message: string;
  /** The keyword of JSON Schema that the value violates. */
  keyword: string;
  /** The faulty value; undefined if a field is missing or unknown. */
  value: unknown;
  /** The name of a missing or unknown field. */
  field?: string;
}

export interface FoundFaults {
  /** Faults in the order of their paths; empty if the value is valid. */
  faults: SchemaFault[];
  /** There are further faults, which were not searched for. */
  more: boolean;
}

/** Maximum number of faults listed for one document: more cannot usefully be corrected at a time. */
export const faultsListedMax = 100;

interface SchemaNode {
  type?: string;
  const?: unknown;
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
  properties?: Record<string, SchemaNode>;
  patternProperties?: Record<string, SchemaNode>;
  additionalProperties?: boolean | SchemaNode;
  required?: string[];
  items?: SchemaNode | SchemaNode[];
  uniqueItems?: boolean;
  pattern?: string;
  [keyword: string]: unknown;
}

/** The faults of `value`, at most `max`. `schema` is a schema of the contract; keywords that it does not use are ignored. */
export function findFaults(schema: object, value: unknown, max = faultsListedMax): FoundFaults {
  const search = new FaultSearch(max + 1);
  search.visit(schema as SchemaNode, value, '');
  const { faults } = search;
  const more = faults.length > max;
  if (more) faults.pop();
  faults.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { faults, more };
}

class FaultSearch {
  readonly faults: SchemaFault[] = [];
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get #isFull(): boolean {
    return this.faults.length >= this.#max;
  }

  visit(schema: SchemaNode, value: unknown, path: string): void {
    const add = (keyword: string, message: string, at: Partial<SchemaFault> = {}) => {
      if (!this.#isFull) this.faults.push({ path, message, keyword, value, ...at });
    };
    const { anyOf, type } = schema;
    if (anyOf !== undefined) {
      if (anyOf.some((branch) => isValid(branch, value))) return;
      // If the value has the type of one member only, its faults there say more.
      const [likely, ...others] = anyOf.filter((branch) => isOfBranchType(branch, value));
      if (likely !== undefined && others.length === 0) this.visit(likely, value, path);
      else add('anyOf', unionMessage(anyOf, value));
    } else if (Object.hasOwn(schema, 'const') && schema.const !== value) {
      add('const', `Must be ${JSON.stringify(schema.const)}, ${describeValue(value)}`);
    } else if (type !== undefined && !isOfType(type, value)) {
      add('type', `Must be ${article(type)}, ${describeValue(value)}`);
    } else if (typeof value === 'number') {
      for (const [keyword, fits, relation] of numberBounds) {
        const bound = schema[keyword];
        if (typeof bound === 'number' && !fits(value, bound))
          add(keyword, `Must be ${relation} ${count(bound)}, ${describeValue(value)}`);
      }
    } else if (typeof value === 'string') {
      checkText(schema, value, add);
    } else if (Array.isArray(value)) {
      this.#visitItems(schema, value, path, add);
    } else if (typeof value === 'object' && value !== null) {
      this.#visitFields(schema, value as Record<string, unknown>, path, add);
    }
  }

  #visitItems(schema: SchemaNode, items: readonly unknown[], path: string, add: AddFault): void {
    const { minItems, maxItems, uniqueItems } = schema;
    if (typeof maxItems === 'number' && items.length > maxItems)
      add('maxItems', `Must have at most ${counted(maxItems, 'item')}`);
    if (typeof minItems === 'number' && items.length < minItems)
      add('minItems', `Must have at least ${counted(minItems, 'item')}`);
    const indexOf = new Map<string, number>();
    for (let index = 0; index < items.length && !this.#isFull; index += 1) {
      const item = items[index];
      const itemPath = `${path}/${index}`;
      const itemSchema = Array.isArray(schema.items) ? schema.items[index] : schema.items;
      if (itemSchema !== undefined) this.visit(itemSchema, item, itemPath);
      if (uniqueItems !== true || isOfWrongType(itemSchema, item)) continue;
      const text = JSON.stringify(item);
      const first = indexOf.get(text);
      if (first === undefined) indexOf.set(text, index);
      else {
        const message = `Repeats the value at index ${first}; the values must differ`;
        add('uniqueItems', message, { path: itemPath, value: item });
      }
    }
  }

  #visitFields(schema: SchemaNode, object: Record<string, unknown>, path: string, add: AddFault): void {
    const { properties = {}, patternProperties = {}, additionalProperties, required = [] } = schema;
    for (const field of required) {
      if (Object.hasOwn(object, field) && object[field] !== undefined) continue;
      const missing = { path: `${path}/${pointerPart(field)}`, value: undefined, field };
      add('required', `The field ${quoted(field)} is missing`, missing);
    }
    const fields = Object.keys(object).filter((field) => object[field] !== undefined);
    const { minProperties, maxProperties, oneOf } = schema;
    if (oneOf !== undefined && oneOf.filter((branch) => isValid(branch, object)).length !== 1)
      add('oneOf', `Must have either ${oneOf.map(({ required: names = [] }) => list(names)).join(' or ')}`);
    if (typeof maxProperties === 'number' && fields.length > maxProperties)
      add('maxProperties', `Must have at most ${counted(maxProperties, 'field')}`);
    if (typeof minProperties === 'number' && fields.length < minProperties)
      add('minProperties', `Must have at least ${counted(minProperties, 'field')}`);
    const patterns = Object.entries(patternProperties).map(
      ([pattern, fieldSchema]) => [new RegExp(pattern, 'u'), fieldSchema] as const,
    );
    for (const field of fields) {
      if (this.#isFull) return;
      const fieldPath = `${path}/${pointerPart(field)}`;
      const matching = patterns.filter(([pattern]) => pattern.test(field)).map(([, matched]) => matched);
      if (Object.hasOwn(properties, field)) matching.push(properties[field]!);
      for (const fieldSchema of matching) this.visit(fieldSchema, object[field], fieldPath);
      if (matching.length > 0) continue;
      if (additionalProperties === false) {
        const message =
          patterns.length > 0
            ? `The name ${quoted(visibleText(truncate(field)))} must match ${Object.keys(patternProperties).join(' or ')}`
            : unknownFieldMessage(field, Object.keys(properties));
        add('additionalProperties', message, { path: fieldPath, value: undefined, field });
      } else if (typeof additionalProperties === 'object') {
        this.visit(additionalProperties, object[field], fieldPath);
      }
    }
  }
}

type AddFault = (keyword: string, message: string, at?: Partial<SchemaFault>) => void;

function isValid(schema: SchemaNode, value: unknown): boolean {
  const search = new FaultSearch(1);
  search.visit(schema, value, '');
  return search.faults.length === 0;
}

function checkText(schema: SchemaNode, text: string, add: AddFault): void {
  const { minLength, maxLength, pattern } = schema;
  if (typeof maxLength === 'number' && text.length > maxLength && characters(text) > maxLength)
    add('maxLength', `Must be at most ${counted(maxLength, 'character')} long`);
  if (typeof minLength === 'number' && characters(text) < minLength)
    add(
      'minLength',
      minLength === 1 ? 'Must not be empty' : `Must be at least ${counted(minLength, 'character')} long`,
    );
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text))
    add('pattern', `Must be ${patternInWords(pattern)}; ${describeValue(text)}`);
}

const numberBounds: readonly [
  keyword: string,
  fits: (value: number, bound: number) => boolean,
  relation: string,
][] = [
  ['minimum', (value, bound) => value >= bound, 'at least'],
  ['exclusiveMinimum', (value, bound) => value > bound, 'more than'],
  ['maximum', (value, bound) => value <= bound, 'at most'],
];

/** Whether an item has the wrong type: then it does not matter whether it is repeated. */
function isOfWrongType(schema: SchemaNode | undefined, value: unknown): boolean {
  return schema?.type !== undefined && !isOfType(schema.type, value);
}

/** Whether the value has the type of an alternative. The type of a literal does not decide: the error lists all literals. */
function isOfBranchType({ type, const: literal }: SchemaNode, value: unknown): boolean {
  return literal === undefined && type !== undefined && isOfType(type, value);
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function unionMessage(branches: readonly SchemaNode[], value: unknown): string {
  if (branches.some((branch) => branch.const === undefined))
    return `Must be ${branches.map(shapeOf).join(', or ')}`;
  return `Must be one of ${branches.map((branch) => JSON.stringify(branch.const)).join(', ')}, ${describeValue(value)}`;
}

/** Describes one member of a union: a value, an object with its fields, or a type. */
const shapeOf = ({ const: value, type, required }: SchemaNode) =>
  value !== undefined
    ? JSON.stringify(value)
    : required === undefined
      ? String(type)
      : `an object with ${list(required)}`;

function unknownFieldMessage(field: string, known: readonly string[]): string {
  const nearest = nearestName(field, known);
  const hint = nearest === null ? `the fields here are ${list(known)}` : `did you mean ${quoted(nearest)}?`;
  return `Unknown field ${quoted(visibleText(truncate(field)))}; ${hint}`;
}

function describeValue(value: unknown): string {
  if (value === null) return 'not null';
  if (Array.isArray(value)) return 'not an array';
  if (typeof value === 'object') return 'not an object';
  return `not ${visibleText(truncate(JSON.stringify(value) ?? typeof value))}`;
}

/** Code points, as JSON Schema counts the length of a string. */
function characters(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const quoted = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => names.map(quoted).join(', ');
const count = (bound: number) => bound.toLocaleString('en-US');
const counted = (bound: number, noun: string) => `${count(bound)} ${noun}${bound === 1 ? '' : 's'}`;
const article = (type: string) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);
const truncate = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
const pointerPart = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
