/** The fields of the form of a scenario, from the schema of its program: words, units, bounds and choices. */
import type { Fault, ParameterInfo, ProgramInfo } from '@shardlab/contract';
import { isObject, type JsonObject, valueAt } from './scenario-draft.ts';

export interface SchemaNode {
  type?: string;
  const?: unknown;
  description?: string;
  minimum?: number;
  maximum?: number;
  anyOf?: SchemaNode[];
  properties?: Record<string, SchemaNode>;
  required?: string[];
  items?: SchemaNode;
}

export interface FormChoice {
  value: string;
  label: string;
}

export interface FormField {
  name: string;
  title: string;
  /** Its meaning, from the schema. */
  about: string;
  /** Null for a number. */
  choices: FormChoice[] | null;
  /** "1 to 256"; empty for a choice. */
  bounds: string;
}

/** The schema of the scenarios of a program; undefined if the document does not have it. */
export const schemaOfProgram = (schema: SchemaNode, program: unknown): SchemaNode | undefined =>
  schema.anyOf?.find(({ properties }) => properties?.program?.const === program);

/** A field for each parameter of the program, in the order of people: what is varied most comes first. */
export function parameterFields(schema: SchemaNode, program: ProgramInfo): FormField[] {
  const nodes = schema.properties?.parameters?.properties ?? {};
  return program.parameters.toReversed().flatMap((parameter) => {
    const node = nodes[parameter.name];
    return node === undefined ? [] : [fieldOf(parameter, node)];
  });
}

function fieldOf({ name, title, names }: ParameterInfo, node: SchemaNode): FormField {
  const literals = (node.anyOf ?? []).flatMap(({ const: value }) =>
    typeof value === 'string' ? [value] : [],
  );
  const { minimum, maximum, description = '' } = node;
  const count = (value: number) => value.toLocaleString('en-US');
  return {
    name,
    title: title.charAt(0).toUpperCase() + title.slice(1),
    about: description,
    choices:
      literals.length === 0 ? null : literals.map((value) => ({ value, label: names?.[value] ?? value })),
    bounds: minimum !== undefined && maximum !== undefined ? `${count(minimum)} to ${count(maximum)}` : '',
  };
}

/** The systems that the program can compare. */
export function systemChoices(schema: SchemaNode): FormChoice[] {
  const literals = schema.properties?.systems?.items?.anyOf ?? [];
  const single = schema.properties?.systems?.items;
  return (literals.length > 0 ? literals : single === undefined ? [] : [single]).flatMap(
    ({ const: value, description }) =>
      typeof value === 'string' ? [{ value, label: description ?? value }] : [],
  );
}

/** The faults at a pointer and below it. */
export const faultsUnder = (faults: readonly Fault[], ...pointers: string[]): Fault[] =>
  faults.filter(({ path }) => pointers.some((pointer) => path === pointer || path.startsWith(`${pointer}/`)));

/** How a parameter is given: once, as an axis of the sweep, or not at all. */
export function parameterMode(draft: JsonObject, name: string): 'single' | 'sweep' | 'default' {
  if (valueAt(draft, ['sweep', name]) !== undefined) return 'sweep';
  return valueAt(draft, ['parameters', name]) === undefined ? 'default' : 'single';
}

/** The schema of the value at a path of a document; undefined if there is none. */
export function schemaAt(root: SchemaNode, path: readonly (string | number)[]): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>(
    (node, step) =>
      typeof step === 'number'
        ? node?.items
        : Object.hasOwn(node?.properties ?? {}, step)
          ? node!.properties![step]
          : undefined,
    root,
  );
}

export interface Completion {
  /** The name or the value as JSON. */
  label: string;
  detail: string;
  isRequired: boolean;
}

/** Names that an object may have and does not have yet, those it needs first. */
export function nameCompletions(node: SchemaNode | undefined, present: readonly string[]): Completion[] {
  const required = node?.required ?? [];
  return Object.entries(node?.properties ?? {})
    .filter(([name]) => !present.includes(name))
    .map(([name, { description = '' }]) => ({
      label: JSON.stringify(name),
      detail: description,
      isRequired: required.includes(name),
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** The values that a schema names. */
export function valueCompletions(node: SchemaNode | undefined): Completion[] {
  if (node === undefined) return [];
  const named = (node.anyOf ?? [node]).filter((each) => isObject(each) && Object.hasOwn(each, 'const'));
  const values = named.map(({ const: value, description = '' }) => ({
    label: JSON.stringify(value),
    detail: description,
    isRequired: false,
  }));
  if (node.type !== 'boolean') return values;
  return [true, false].map((value) => ({ label: String(value), detail: '', isRequired: false }));
}

/** "Payload bytes: Must be at least 32": a fault with the name of its parameter in words; of other fields with their path. */
export function faultInWords({ path, message }: Fault, parameters: readonly ParameterInfo[]): string {
  const parameter = parameters.find(({ name }) => path.split('/').includes(name));
  const place = parameter?.title ?? path.slice(1).replaceAll('/', ', ');
  return place === '' ? message : `${place}: ${message}`;
}
