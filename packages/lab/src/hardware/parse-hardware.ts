/** Parses and validates a hardware file: JSON, schema, and consistency between its parts. */
import { Hardware } from '@shardlab/contract';
import { type HardwareFile, sourcesOf } from '@shardlab/model';
import { LabError } from '../errors/errors.ts';
import {
  problemDetails,
  problemsInWords,
  type ScenarioProblem,
  type ScenarioProblems,
} from '../errors/scenario-problems.ts';
import { readDocument } from '../scenario/read-document.ts';

/** Throws `HARDWARE_INVALID`, whose `details.errors` list faults with their JSON pointers. */
export function parseHardware(text: string): HardwareFile {
  const hardware = readDocument(text, Hardware, invalid);
  const faults = crossCheck(hardware);
  if (faults.length > 0) throw invalid({ faults, more: false });
  return hardware;
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

function invalid(found: ScenarioProblems): LabError {
  return new LabError('HARDWARE_INVALID', {
    message: problemsInWords('hardware file', found),
    details: problemDetails(found),
  });
}
