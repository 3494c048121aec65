import type { MachineState } from '@shardlab/contract';
import { formatValue } from './format.ts';

/** From this share of its cores on, a machine is too busy to be measured without asking. */
const busyShare = 0.3;

/**
 * What a measurement would share the machine with, in sentences; none if it would have it alone. While a run is under way
 * there is nothing to ask: a further run waits until it has ended, and what keeps the cores busy is that run.
 */
export function reasonsToAsk({ cores, coresBusy, loadRunning, runsUnderWay }: MachineState): string[] {
  if (runsUnderWay > 0) return [];
  return [
    ...(loadRunning
      ? ['The load of the cluster page is on. It ends by itself, or can be stopped there.']
      : []),
    ...(coresBusy > busyShare * cores
      ? [`Other work keeps ${formatValue(coresBusy)} of ${cores} cores busy.`]
      : []),
  ];
}
