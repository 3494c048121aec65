import type { Run } from '@shardlab/contract';

/** The title of the scenario, and the start of the run's id to tell it from others. */
export const runLabel = (run: Pick<Run, 'id' | 'scenario'>): string =>
  `${run.scenario.title} (${run.id.slice(0, 8)})`;
