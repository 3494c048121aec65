import type { Scale, Scenario } from '@shardlab/contract';
import { LabError } from '../errors.ts';
import { scaleScenario } from '../scenario/expand-sweep.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';

/**
 * Throws `SYSTEM_UNAVAILABLE`, with a line that installs it, if a system of the scenario needs a program that this machine
 * lacks: before the run, because a failed trial after an hour would say the same. With the folder of the run's data it also
 * asks whether servers can use that. Starts such programs to ask their version.
 */
export function assertSystemsAvailable(
  scenario: Scenario,
  scale: Scale,
  studies: StudyRegistry = bundledStudies,
  folder?: string,
): void {
  const { systems } = scaleScenario(scenario, scale);
  const missing = studies.program(scenario.program).missing?.(systems, folder) ?? [];
  if (missing.length === 0) return;
  throw new LabError('SYSTEM_UNAVAILABLE', { message: missing.join('; '), details: { missing } });
}
