/** Reads a hardware file: its JSON, its shape, and what its parts mean to each other. */
import { Hardware } from '@shardlab/contract';
import { type HardwareFile, sourcesOf } from '@shardlab/model';
import { Ajv } from 'ajv';
import { LabError } from '../errors.ts';
import { locateJsonFault } from '../scenario/locate-json-fault.ts';
import { type ScenarioFault, schemaFaults } from '../scenario/schema-faults.ts';

const validate = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  verbose: true,
}).compile<HardwareFile>(JSON.parse(JSON.stringify(Hardware)));

/** Throws `HARDWARE_INVALID`; its `details.errors` name every fault by its JSON path. */
export function parseHardware(text: string): HardwareFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const fault = locateJsonFault(text);
    throw invalid([{ path: '', message: fault?.message ?? `Not JSON: ${(cause as Error).message}` }]);
  }
  if (!validate(value)) throw invalid(schemaFaults(validate.errors ?? []));
  const faults = crossCheck(value);
  if (faults.length > 0) throw invalid(faults);
  return value;
}

function crossCheck(hardware: HardwareFile): ScenarioFault[] {
  const faults: ScenarioFault[] = [];
  const used = new Set<string>();
  for (const { path, leaf } of sourcesOf(hardware.costs)) {
    if (leaf.source !== 'fitted') continue;
    used.add(leaf.parameter);
    if (!Object.hasOwn(hardware.parameters, leaf.parameter)) {
      const known = Object.keys(hardware.parameters).join(', ') || 'none';
      faults.push({
        path: `/costs/${path.replaceAll('.', '/')}/parameter`,
        message: `There is no free parameter "${leaf.parameter}"; known are ${known}`,
      });
    }
  }
  for (const [name, { value, low, high }] of Object.entries(hardware.parameters)) {
    if (!used.has(name)) faults.push({ path: `/parameters/${name}`, message: 'No cost depends on it' });
    if (!(low <= value && value <= high)) {
      faults.push({
        path: `/parameters/${name}/value`,
        message: `Must lie between ${low} and ${high}, not ${value}`,
      });
    }
  }
  const { blocks } = hardware.costs.unsharded;
  if (blocks.source === 'fitted' || (blocks.value !== 1 && blocks.value !== 2))
    faults.push({ path: '/costs/unsharded/blocks', message: 'Must be 1 or 2, and not fitted' });
  return faults;
}

function invalid(faults: ScenarioFault[]): LabError {
  const { path, message } = faults[0]!;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new LabError('HARDWARE_INVALID', {
    sentence: `The hardware file has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${path === '' ? '' : `${path}: `}${message}${more}`,
    details: { errors: faults },
  });
}
