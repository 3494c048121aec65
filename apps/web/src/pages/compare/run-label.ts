import type { Run } from '@shardlab/contract';

/** What a user called the run, else the title of its scenario; and the start of its id to tell it from others. */
export const runLabel = (run: Pick<Run, 'id' | 'scenario' | 'labels'>): string =>
  `${run.labels?.name || run.scenario.title} (${run.id.slice(0, 8)})`;
