import type { Scale, Scenario } from '@shardlab/contract';
import { LabError } from '../errors.ts';
import { scaleScenario } from '../scenario/expand-sweep.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';

/**
 * Throws `SYSTEM_UNAVAILABLE`, with a line that installs it, if a system of the scenario needs a program that this machine
 * lacks: before the run, because a failed trial after an hour would say the same. Starts such programs to ask their version.
 */
export function assertSystemsAvailable(
  scenario: Scenario,
  scale: Scale,
  studies: StudyRegistry = bundledStudies,
): void {
  const { systems } = scaleScenario(scenario, scale);
  const missing = studies.program(scenario.program).missing?.(systems) ?? [];
  if (missing.length === 0) return;
  throw new LabError('SYSTEM_UNAVAILABLE', { message: missing.join('; '), details: { missing } });
}
