/** Parses and validates a hardware file: JSON, schema, and consistency between its parts. */
import { Hardware } from '@shardlab/contract';
import { type HardwareFile, sourcesOf } from '@shardlab/model';
import { Ajv } from 'ajv';
import { LabError } from '../errors.ts';
import { locateJsonError } from '../scenario/locate-json-error.ts';
import { type ScenarioProblem, schemaProblems } from '../scenario/schema-problems.ts';

const validate = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  verbose: true,
}).compile<HardwareFile>(JSON.parse(JSON.stringify(Hardware)));

/** Throws `HARDWARE_INVALID`, whose `details.errors` list every fault with its JSON pointer. */
export function parseHardware(text: string): HardwareFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const fault = locateJsonError(text);
    throw invalid([{ path: '', message: fault?.message ?? `Not JSON: ${(cause as Error).message}` }]);
  }
  if (!validate(value)) throw invalid(schemaProblems(validate.errors ?? []));
  const faults = crossCheck(value);
  if (faults.length > 0) throw invalid(faults);
  return value;
}

function crossCheck(hardware: HardwareFile): ScenarioProblem[] {
  const faults: ScenarioProblem[] = [];
  const used = new Set<string>();
  for (const { path, leaf } of sourcesOf(hardware.costs)) {
    if (leaf.source !== 'fitted') continue;
    used.add(leaf.parameter);
    if (!Object.hasOwn(hardware.parameters, leaf.parameter)) {
      const known = Object.keys(hardware.parameters).join(', ') || 'none';
      faults.push({
        path: `/costs/${path.replaceAll('.', '/')}/parameter`,
        message: `There is no free parameter "${leaf.parameter}"; the parameters are ${known}`,
      });
    }
  }
  for (const [name, { value, low, high }] of Object.entries(hardware.parameters)) {
    if (!used.has(name))
      faults.push({ path: `/parameters/${name}`, message: 'No cost depends on this parameter' });
    if (!(low <= value && value <= high)) {
      faults.push({
        path: `/parameters/${name}/value`,
        message: `Must be between ${low} and ${high}, not ${value}`,
      });
    }
  }
  const { blocks } = hardware.costs.unsharded;
  if (blocks.source === 'fitted' || (blocks.value !== 1 && blocks.value !== 2))
    faults.push({ path: '/costs/unsharded/blocks', message: 'Must be 1 or 2, and must not be fitted' });
  return faults;
}

function invalid(faults: ScenarioProblem[]): LabError {
  const { path, message } = faults[0]!;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new LabError('HARDWARE_INVALID', {
    message: `The hardware file has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${path === '' ? '' : `${path}: `}${message}${more}`,
    details: { errors: faults },
  });
}
