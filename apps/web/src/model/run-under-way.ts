import type { RunSummary } from '@shardlab/contract';

/** The run that is executed now, or else the next one, and how many wait behind it. Null if all have ended. */
export function runUnderWay<Summary extends Pick<RunSummary, 'status' | 'createdAtMs'>>(
  runs: readonly Summary[],
): { run: Summary; waiting: number } | null {
  const open = runs
    .filter(({ status }) => status === 'running' || status === 'queued')
    .sort((a, b) => a.createdAtMs - b.createdAtMs);
  const run = open.find(({ status }) => status === 'running') ?? open[0];
  return run === undefined ? null : { run, waiting: open.length - 1 };
}
