import type { Run, RunList, RunSummary } from '@shardlab/contract';

/** The run that is executed now, or else the next one, and how many wait behind it. Null if all have ended. */
export function runUnderWay<Summary extends Pick<RunSummary, 'status' | 'createdAtMs'>>(
  runs: readonly Summary[],
): { run: Summary; waiting: number } | null {
  const open = runs.filter(isOpen).sort((a, b) => a.createdAtMs - b.createdAtMs);
  const run = open.find(({ status }) => status === 'running') ?? open[0];
  return run === undefined ? null : { run, waiting: open.length - 1 };
}

/** The ids of the runs that are executed or wait. */
export const idsUnderWay = (runs: readonly Pick<RunSummary, 'id' | 'status'>[]): string[] =>
  runs.filter(isOpen).map(({ id }) => id);

const isOpen = ({ status }: Pick<RunSummary, 'status'>) => status === 'running' || status === 'queued';

/** The list with the newer state of one run; the same list if the run is not in it. */
export function withProgressOf(list: RunList, run: Pick<Run, 'id' | 'status' | 'progress'>): RunList {
  const { id, status, progress } = run;
  if (!list.runs.some((each) => each.id === id)) return list;
  return { ...list, runs: list.runs.map((each) => (each.id === id ? { ...each, status, progress } : each)) };
}
