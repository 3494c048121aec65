/** A scenario with the systems that this machine has, for a command that runs what it can. */
import type { Scale, Scenario } from '@shardlab/contract';
import { scaleScenario } from '../programs/expand-sweep.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';

export interface Runnable {
  /** Null if none of its systems can run. */
  scenario: Scenario | null;
  title: string;
  /** Why systems are left out, a sentence for each reason. */
  absent: string[];
}

/** Asks for the systems of one scale only: a quick run may need fewer. */
export function withoutMissing(
  scenario: Scenario,
  scale: Scale,
  folder: string,
  studies: StudyRegistry = bundledStudies,
): Runnable {
  const { title } = scenario;
  const program = studies.program(scenario.program);
  const { systems } = scaleScenario(scenario, scale);
  const absent = program.missing?.(systems, { folder }) ?? [];
  if (absent.length === 0) return { scenario, title, absent };
  const present = systems.filter((system) => (program.missing?.([system], { folder }) ?? []).length === 0);
  if (present.length === 0) return { scenario: null, title, absent };
  const { quick } = scenario;
  const cut =
    scale === 'quick' && quick?.systems !== undefined
      ? { ...scenario, quick: { ...quick, systems: present } }
      : { ...scenario, systems: present };
  return { scenario: cut, title, absent };
}
