/** JSON that people write: scenarios, lessons, hardware files. */
import {
  findFaults,
  type JsonLimits,
  JsonRefused,
  jsonLimits,
  scanJson,
  withoutByteOrderMark,
} from '@shardlab/contract';
import type Type from 'typebox';
import { type ScenarioProblem, type ScenarioProblems, toProblems } from '../errors/scenario-problems.ts';
import { locateJsonError } from './locate-json-error.ts';

export type ReadJson =
  | { ok: true; value: unknown }
  /** `place`: line and column of what is not JSON, or the two places of a repeated field. */
  | { ok: false; fault: ScenarioProblem; place: Readonly<Record<string, unknown>> };

/** Ten times what the largest scenario has, which lists 16 values for each of a dozen parameters of 32 systems. */
const documentLimits: JsonLimits = { ...jsonLimits, valuesMax: 20_000 };

/** Parses a text that is JSON, within `documentLimits`, and gives each field of an object once. A byte order mark is no part of it. */
export function readJson(text: string): ReadJson {
  const json = withoutByteOrderMark(text);
  try {
    scanJson(json, {}, documentLimits);
    return { ok: true, value: JSON.parse(json) };
  } catch (error) {
    if (error instanceof JsonRefused) {
      const { path, message, details } = error;
      return { ok: false, fault: { path, message }, place: details };
    }
    const found = locateJsonError(json);
    if (found === null)
      return { ok: false, fault: { path: '', message: `Not JSON: ${(error as Error).message}` }, place: {} };
    const { message, line, column } = found;
    return { ok: false, fault: { path: '', message }, place: { line, column } };
  }
}

/** A document of a kind that has a schema. Throws what `invalid` makes of the faults if the text is not JSON, or does not fit. */
export function readDocument<Schema extends Type.TSchema>(
  text: string,
  schema: Schema,
  invalid: (problems: ScenarioProblems) => Error,
): Type.Static<Schema> {
  const read = readJson(text);
  if (!read.ok) throw invalid({ faults: [read.fault], more: false });
  const found = findFaults(schema, read.value);
  if (found.faults.length > 0) throw invalid(toProblems(found));
  return read.value as Type.Static<Schema>;
}
