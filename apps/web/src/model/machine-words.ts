import type { MachineState } from '@shardlab/contract';
import { formatValue } from './format.ts';

/** From this share of its cores on, a machine is too busy to be measured without asking. */
const busyShare = 0.3;

/**
 * Other load on the machine that a run would compete with, in sentences; empty without any. A further run waits until the one
 * under way has ended, which is what keeps the cores busy: then only the cluster's load counts.
 */
export function reasonsToAsk(machine: MachineState): string[] {
  if (machine.runsUnderWay > 0) return loadOf(machine);
  if (machine.calibrating)
    return ['The costs of this machine are being measured on the what-if page. That ends by itself.'];
  return otherWork(machine);
}

/** The same of a calibration, which waits for nothing. */
export function reasonsNotToCalibrate(machine: MachineState): string[] {
  if (machine.runsUnderWay === 0) return otherWork(machine);
  return ['A run is under way, which would be measured at the same time. Each would disturb the other.'];
}

const loadOf = ({ loadRunning }: MachineState): string[] =>
  loadRunning ? ['The load of the cluster page is on. It ends by itself, or can be stopped there.'] : [];

function otherWork(machine: MachineState): string[] {
  const { cores, coresBusy } = machine;
  return [
    ...loadOf(machine),
    ...(coresBusy > busyShare * cores
      ? [`Other work keeps ${formatValue(coresBusy)} of ${cores} cores busy.`]
      : []),
  ];
}
