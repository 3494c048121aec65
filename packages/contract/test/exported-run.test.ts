import { describe, expect, it } from 'vitest';
import { ExportedRun, epochMsMax, findFaults, runMsMax } from '../src/index.ts';

type Node = Record<string, unknown>;

/** The places of a schema that have no bound, as paths. */
function unbounded(schema: Node, path: string): string[] {
  const {
    type,
    const: literal,
    enum: literals,
    properties = {},
    patternProperties,
    items,
    anyOf = [],
  } = schema;
  const has = (...names: string[]) => names.every((name) => typeof schema[name] === 'number');
  const found: string[] = [];
  if (literal === undefined && literals === undefined) {
    if ((type === 'number' || type === 'integer') && !has('minimum', 'maximum')) found.push(path);
    if (type === 'string' && !has('maxLength')) found.push(path);
    if (type === 'array' && !has('maxItems')) found.push(path);
  }
  for (const [name, each] of Object.entries(properties as Record<string, Node>))
    found.push(...unbounded(each, `${path}/${name}`));
  for (const [name, each] of Object.entries((patternProperties ?? {}) as Record<string, Node>)) {
    if (!has('maxProperties') || schema.additionalProperties !== false || name.includes('*$'))
      found.push(path);
    found.push(...unbounded(each, `${path}/*`));
  }
  if (items !== undefined) found.push(...unbounded(items as Node, `${path}/[]`));
  for (const each of anyOf as Node[]) found.push(...unbounded(each, path));
  return found;
}

describe('an imported run', () => {
  it('has a bound for every number, text, list and object with free names', () => {
    expect(unbounded(ExportedRun as unknown as Node, '')).toEqual([]);
  });

  it.each([
    ['startedAtMs', -1, epochMsMax + 1],
    ['endedAtMs', 0.5, 2 ** 53],
    ['createdAtMs', Number.POSITIVE_INFINITY, 8.64e15],
  ])('has times that a calendar knows: %s', (name, low, high) => {
    const { [name]: schema } = ExportedRun.properties as unknown as Record<string, object>;
    for (const value of [low, high]) expect(findFaults(schema!, value).faults).not.toEqual([]);
    for (const value of [0, 1_795_792_502_560, epochMsMax])
      expect(findFaults(schema!, value).faults).toEqual([]);
    const { atMs } = (
      ExportedRun.properties.ticks as unknown as { items: typeof ExportedRun.properties.ticks.items }
    ).items.properties;
    for (const value of [-1, runMsMax + 1, 2 ** 53]) expect(findFaults(atMs, value).faults).not.toEqual([]);
  });
});
