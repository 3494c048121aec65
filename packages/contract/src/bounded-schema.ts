/**
 * Bounds for what comes from outside as a whole file: every number, text, list and open object of a schema gets one, unless it has a
 * tighter one of its own. So none can be forgotten, and whoever draws or formats such a value knows its range.
 */
import type { TSchema } from 'typebox';

export const fileBounds = {
  /** Of numbers with fractions, in either direction: as milliseconds since 1970 it is still a date. */
  numberMax: 1e15,
  /** Whole numbers are counts, sizes, indexes and times: 0 to the largest that is exact. */
  integerMax: Number.MAX_SAFE_INTEGER,
  /** Characters of a text: the longest of the lab, the reason of a verdict with many clauses, has some 4,000. */
  textMax: 64 * 1024,
  /** Items of a list: the longest of the lab, the bins of a timeline over 10 minutes, has 6,000 for each of up to 16 instances. */
  listMax: 100_000,
  /** Fields of an object with free names, such as figures by name, and characters of such a name. */
  fieldsMax: 256,
  fieldNameMax: 128,
} as const;

type Node = Record<string, unknown>;

/** A schema that has these bounds too. `Schema` stays the type of what fits. */
/* @__NO_SIDE_EFFECTS__ */
export const boundedSchema = <Schema extends TSchema>(schema: Schema): Schema => bounded(schema) as Schema;

const fieldNamePattern = `^[\\s\\S]{0,${fileBounds.fieldNameMax}}$`;

function bounded(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(bounded);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, patternProperties, items, anyOf, ...rest } = schema as Node;
  return {
    ...boundsOf(schema as Node),
    ...rest,
    ...(anyOf !== undefined && { anyOf: bounded(anyOf) }),
    ...(items !== undefined && { items: bounded(items) }),
    ...(properties !== undefined && { properties: eachOf(properties as Node) }),
    ...(patternProperties !== undefined && {
      additionalProperties: false,
      patternProperties: eachOf(patternProperties as Node, fieldNamePattern),
    }),
  };
}

function boundsOf({ type, const: literal, enum: literals, patternProperties }: Node): Node {
  if (literal !== undefined || literals !== undefined) return {};
  if (type === 'number') return { minimum: -fileBounds.numberMax, maximum: fileBounds.numberMax };
  if (type === 'integer') return { minimum: 0, maximum: fileBounds.integerMax };
  if (type === 'string') return { maxLength: fileBounds.textMax };
  if (type === 'array') return { maxItems: fileBounds.listMax };
  return patternProperties === undefined ? {} : { maxProperties: fileBounds.fieldsMax };
}

/** `anyName`: replaces the pattern of names that may be anything. */
const eachOf = (schemas: Node, anyName?: string): Node =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, each]) => [
      anyName !== undefined && /^\^?\.\*\$?$/.test(name) ? anyName : name,
      bounded(each),
    ]),
  );
