/** Reads a scenario from outside: its size, its JSON, its shape and what its fields mean together. */
import { Scenario, scenarioLimits } from '@shardlab/contract';
import { Ajv } from 'ajv';
import { LabError } from '../errors.ts';
import { crossCheckScenario } from './cross-checks.ts';
import { locateJsonFault } from './locate-json-fault.ts';
import { type ScenarioFault, schemaFaults } from './schema-faults.ts';

export type ParsedScenario =
  | { ok: true; scenario: Scenario }
  /** `error` is what a host throws or answers with; its `details.errors` are the same faults. */
  | { ok: false; faults: ScenarioFault[]; error: LabError };

const validate = new Ajv({ allErrors: true, strict: true, verbose: true }).compile<Scenario>(
  JSON.parse(JSON.stringify(Scenario)),
);

/**
 * Checks a scenario given as JSON text or as a value parsed already. Every fault is named by its JSON path, not just
 * the first one. Text over `scenarioLimits.bytesMax` is `SCENARIO_TOO_LARGE`, anything else wrong `SCENARIO_INVALID`.
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
      const fault = locateJsonFault(input);
      const message = fault?.message ?? `Not JSON: ${(cause as Error).message}`;
      return invalid([{ path: '', message }], fault ? { line: fault.line, column: fault.column } : {});
    }
  } else {
    const bytes = Buffer.byteLength(JSON.stringify(input) ?? '');
    if (bytes > scenarioLimits.bytesMax) return tooLarge(bytes);
  }
  if (!validate(value)) return invalid(schemaFaults(validate.errors ?? []));
  const faults = crossCheckScenario(value);
  return faults.length > 0 ? invalid(faults) : { ok: true, scenario: value };
}

function invalid(faults: ScenarioFault[], details: Record<string, unknown> = {}): ParsedScenario {
  const first = faults[0]!;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const sentence = `The scenario has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${first.path === '' ? '' : `${first.path}: `}${first.message}${more}`;
  return {
    ok: false,
    faults,
    error: new LabError('SCENARIO_INVALID', { sentence, details: { errors: faults, ...details } }),
  };
}

function tooLarge(bytes: number): ParsedScenario {
  const limit = scenarioLimits.bytesMax;
  const sentence = `The scenario has ${bytes.toLocaleString('en-US')} bytes; at most ${limit.toLocaleString('en-US')} are accepted`;
  const faults = [{ path: '', message: sentence }];
  return {
    ok: false,
    faults,
    error: new LabError('SCENARIO_TOO_LARGE', { sentence, details: { bytes, limit, errors: faults } }),
  };
}
