/** A JSON document of a kind that has a schema: a lesson, a hardware file. */
import { findFaults } from '@shardlab/contract';
import type Type from 'typebox';
import { type ScenarioProblems, toProblems } from '../errors/scenario-problems.ts';
import { locateJsonError } from './locate-json-error.ts';

/** Throws what `invalid` makes of the faults if the text is not JSON, or does not fit the schema. */
export function readDocument<Schema extends Type.TSchema>(
  text: string,
  schema: Schema,
  invalid: (problems: ScenarioProblems) => Error,
): Type.Static<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const fault = locateJsonError(text);
    const message = fault?.message ?? `Not JSON: ${(cause as Error).message}`;
    throw invalid({ faults: [{ path: '', message }], more: false });
  }
  const found = findFaults(schema, value);
  if (found.faults.length > 0) throw invalid(toProblems(found));
  return value as Type.Static<Schema>;
}
