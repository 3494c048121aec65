import type { Scale, Scenario } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { scaleScenario } from '../programs/expand-sweep.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import type { MissingOptions } from '../systems/missing.ts';

export interface AvailableOptions extends MissingOptions {
  /** Default: the bundled ones. */
  studies?: StudyRegistry;
}

/**
 * Throws `SYSTEM_UNAVAILABLE`, with a line that installs it, if a system of the scenario needs a program that this machine
 * lacks: before the run, because a failed trial after an hour would say the same. Starts such programs to ask their version.
 */
export function assertSystemsAvailable(
  scenario: Scenario,
  scale: Scale,
  { studies = bundledStudies, ...options }: AvailableOptions = {},
): void {
  const { systems } = scaleScenario(scenario, scale);
  const missing = studies.program(scenario.program).missing?.(systems, options) ?? [];
  if (missing.length === 0) return;
  throw new LabError('SYSTEM_UNAVAILABLE', { message: missing.join('; '), details: { missing } });
}

/** Installs servers that systems of the scenario lack, where this process may; tells `say` of each. */
export async function installMissing(
  scenario: Scenario,
  scale: Scale,
  say: (sentence: string) => void,
  studies: StudyRegistry = bundledStudies,
): Promise<void> {
  const { systems } = scaleScenario(scenario, scale);
  await studies.program(scenario.program).install?.(systems, say);
}
