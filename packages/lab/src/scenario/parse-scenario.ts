/** Parses and validates a scenario: size, JSON, schema, and consistency between fields. */
import { findFaults, type Scenario, scenarioLimits, scenarioVersion } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import {
  problemDetails,
  problemsInWords,
  type ScenarioProblem,
  type ScenarioProblems,
  toProblems,
} from '../errors/scenario-problems.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import { crossCheckScenario } from './cross-checks.ts';
import { readJson } from './read-document.ts';
import { scenarioSchemaOf, schemaOfAnyProgram } from './scenario-schema.ts';
import { isVersion1, translateVersion1 } from './translate-version-1.ts';

export type ParsedScenario =
  | { ok: true; scenario: Scenario }
  /** `error` is for callers that throw or respond with it; its `details.errors` are the same faults. */
  | { ok: false; faults: ScenarioProblem[]; more: boolean; error: LabError };

/**
 * Validates a scenario given as JSON text or as a parsed value. Reports the faults with their JSON pointers, at
 * most `faultsListedMax`. Text longer than `scenarioLimits.bytesMax` is `SCENARIO_TOO_LARGE`; every other fault is
 * `SCENARIO_INVALID`.
 * Never throws for bad input.
 */
export function parseScenario(input: unknown, studies: StudyRegistry = bundledStudies): ParsedScenario {
  let value = input;
  if (typeof input === 'string') {
    const bytes = Buffer.byteLength(input);
    if (bytes > scenarioLimits.bytesMax) return tooLarge(bytes);
    const read = readJson(input);
    if (!read.ok) return invalid({ faults: [read.fault], more: false }, read.place);
    value = read.value;
  } else {
    const bytes = jsonBytes(input);
    if (bytes > scenarioLimits.bytesMax) return tooLarge(bytes);
  }
  if (isVersion1(value)) return outdated(translateVersion1(value));
  const found = findFaults(schemaFor(value, studies), value);
  if (found.faults.length > 0) return invalid(toProblems(found));
  const scenario = value as Scenario;
  const faults = crossCheckScenario(scenario, studies);
  return faults.length > 0 ? invalid({ faults, more: false }) : { ok: true, scenario };
}

function schemaFor(value: unknown, { programs }: StudyRegistry) {
  const named = (value as { program?: unknown } | null | undefined)?.program;
  const program = programs.find(({ id }) => id === named);
  return program === undefined ? schemaOfAnyProgram(programs) : scenarioSchemaOf(program);
}

/** `details.translation` is the same scenario in the present version, which may have faults of its own. */
function outdated(translation: Record<string, unknown>): ParsedScenario {
  const message = `Version 1 is no longer read; the same scenario as version ${scenarioVersion} comes with this error`;
  return invalid({ faults: [{ path: '/version', message }], more: false }, { translation });
}

/** Bytes of a value as JSON. A value nested more deeply than the call stack has no JSON, and counts as over any limit. */
function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? '');
  } catch (error) {
    if (error instanceof RangeError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

function invalid(found: ScenarioProblems, place: Record<string, unknown> = {}): ParsedScenario {
  const error = new LabError('SCENARIO_INVALID', {
    message: problemsInWords('scenario', found),
    details: { ...problemDetails(found), ...place },
  });
  return { ok: false, ...found, error };
}

function tooLarge(bytes: number): ParsedScenario {
  const limit = scenarioLimits.bytesMax;
  const sentence = `The scenario has ${bytes.toLocaleString('en-US')} bytes; the limit is ${limit.toLocaleString('en-US')}`;
  const faults = [{ path: '', message: sentence }];
  return {
    ok: false,
    faults,
    more: false,
    error: new LabError('SCENARIO_TOO_LARGE', {
      message: sentence,
      details: { bytes, limit, errors: faults },
    }),
  };
}
