/** A scenario that is being edited. Its text is what counts; the form reads and changes the same text. */
import type { ParamValue, Scenario } from '@shardlab/contract';

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object of a text; null if the text is no JSON object. */
export function readDraft(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const widthMax = 100;

/** Formats a draft like the files of the repository: two spaces, and a list of plain values in one line if it fits. */
export function formatDraft(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const line = `[${value.map((each) => JSON.stringify(each)).join(', ')}]`;
    const isPlain = value.every((each) => typeof each !== 'object' || each === null);
    if (value.length === 0 || (isPlain && indent.length + line.length <= widthMax)) return line;
    return `[\n${value.map((each) => inner + formatDraft(each, inner)).join(',\n')}\n${indent}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  if (fields.length === 0) return '{}';
  const lines = fields.map(([name, each]) => `${inner}${JSON.stringify(name)}: ${formatDraft(each, inner)}`);
  return `{\n${lines.join(',\n')}\n${indent}}`;
}

/** The value at a path of field names; undefined if there is none. */
export const valueAt = (draft: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), draft);

/** The draft with another value at a path. Undefined takes the field out, and an object that would be left empty below the top. */
export function withValue(draft: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [name, ...rest] = path as [string, ...string[]];
  const before = draft[name];
  const after = rest.length === 0 ? value : withValue(isObject(before) ? before : {}, rest, value);
  const isGone =
    after === undefined || (name === 'quick' && isObject(after) && Object.keys(after).length === 0);
  if (!isGone) return { ...draft, [name]: after };
  const { [name]: _gone, ...others } = draft;
  return others;
}

/** Gives a parameter one value, several, or none of its own. It has one place: `parameters` or `sweep`. */
export function withParameter(
  draft: JsonObject,
  name: string,
  values: ParamValue | readonly ParamValue[] | undefined,
): JsonObject {
  const isList = Array.isArray(values);
  const changed = withValue(
    withValue(draft, ['parameters', name], isList ? undefined : values),
    ['sweep', name],
    isList ? values : undefined,
  );
  // The quick sweep narrows an existing axis.
  return isList || valueAt(changed, ['quick', 'sweep', name]) === undefined
    ? changed
    : withValue(changed, ['quick', 'sweep', name], undefined);
}

/** A copy under a name of its own, with the claims that it tests: whether a run of it says something of them, their judges decide. */
export function copyOf(scenario: Scenario, taken: readonly string[]): JsonObject {
  let id = `${scenario.id.slice(0, 58)}-copy`;
  for (let number = 2; taken.includes(id); number++) id = `${scenario.id.slice(0, 55)}-copy-${number}`;
  const title = `${scenario.title.slice(0, 110)} (copy)`;
  const { $schema: _schema, ...rest } = scenario;
  return { ...rest, id, title };
}

export interface DraftChange {
  /** Names from the top, and a dot between them. */
  path: string;
  before: string;
  after: string;
}

/** The differences from the scenario at which the editing began. Lists are compared as a whole. */
export function changesOf(before: unknown, after: unknown, path: readonly string[] = []): DraftChange[] {
  if (isObject(before) || isObject(after)) {
    const [left, right] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    return names.flatMap((name) => changesOf(left[name], right[name], [...path, name]));
  }
  const [left, right] = [inWords(before), inWords(after)];
  return left === right ? [] : [{ path: path.join('.'), before: left, after: right }];
}

function inWords(value: unknown): string {
  if (value === undefined) return 'none';
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
