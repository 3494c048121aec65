import type { Run } from '@shardlab/contract';

/** The user's name for the run, or else the title of its scenario, and the start of its id to distinguish it from others. */
export const runLabel = (run: Pick<Run, 'id' | 'scenario' | 'labels'>): string =>
  `${run.labels?.name || run.scenario.title} (${run.id.slice(0, 8)})`;
