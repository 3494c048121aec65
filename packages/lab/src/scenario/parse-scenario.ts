/** Parses and validates a scenario: size, JSON, schema, and consistency between fields. */
import { Scenario, scenarioLimits } from '@shardlab/contract';
import { Ajv } from 'ajv';
import { LabError } from '../errors.ts';
import { crossCheckScenario } from './cross-checks.ts';
import { locateJsonError } from './locate-json-error.ts';
import { type ScenarioProblem, schemaProblems } from './schema-problems.ts';

export type ParsedScenario =
  | { ok: true; scenario: Scenario }
  /** `error` is for callers that throw or respond with it; its `details.errors` are the same faults. */
  | { ok: false; faults: ScenarioProblem[]; error: LabError };

const validate = new Ajv({ allErrors: true, strict: true, verbose: true }).compile<Scenario>(
  JSON.parse(JSON.stringify(Scenario)),
);

/**
 * Validates a scenario given as JSON text or as a parsed value. Reports all faults with their JSON pointers. Text
 * longer than `scenarioLimits.bytesMax` is `SCENARIO_TOO_LARGE`; every other fault is `SCENARIO_INVALID`.
 * Never throws for bad input.
 */
export function parseScenario(input: unknown): ParsedScenario {
  let value = input;
  if (typeof input === 'string') {
    const bytes = Buffer.byteLength(input);
    if (bytes > scenarioLimits.bytesMax) return tooLarge(bytes);
    try {
      value = JSON.parse(input);
    } catch (cause) {
      const fault = locateJsonError(input);
      const message = fault?.message ?? `Not JSON: ${(cause as Error).message}`;
      return invalid([{ path: '', message }], fault ? { line: fault.line, column: fault.column } : {});
    }
  } else {
    const bytes = Buffer.byteLength(JSON.stringify(input) ?? '');
    if (bytes > scenarioLimits.bytesMax) return tooLarge(bytes);
  }
  if (!validate(value)) return invalid(schemaProblems(validate.errors ?? []));
  const faults = crossCheckScenario(value);
  return faults.length > 0 ? invalid(faults) : { ok: true, scenario: value };
}

function invalid(faults: ScenarioProblem[], details: Record<string, unknown> = {}): ParsedScenario {
  const first = faults[0]!;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const sentence = `The scenario has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${first.path === '' ? '' : `${first.path}: `}${first.message}${more}`;
  return {
    ok: false,
    faults,
    error: new LabError('SCENARIO_INVALID', { message: sentence, details: { errors: faults, ...details } }),
  };
}

function tooLarge(bytes: number): ParsedScenario {
  const limit = scenarioLimits.bytesMax;
  const sentence = `The scenario has ${bytes.toLocaleString('en-US')} bytes; the limit is ${limit.toLocaleString('en-US')}`;
  const faults = [{ path: '', message: sentence }];
  return {
    ok: false,
    faults,
    error: new LabError('SCENARIO_TOO_LARGE', {
      message: sentence,
      details: { bytes, limit, errors: faults },
    }),
  };
}
