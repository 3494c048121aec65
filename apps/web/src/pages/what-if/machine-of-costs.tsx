import type { Hardware } from '@shardlab/contract';
import { formatAgo } from '../../model/format.ts';

/** The machine on which the costs were measured, and whether it is the one that runs the server. */
export function MachineOfCosts({ machine, isHere }: { machine: Hardware; isHere: boolean }) {
  const { title, calibratedAtMs } = machine;
  const when = calibratedAtMs === undefined ? '' : ` ${formatAgo(calibratedAtMs, Date.now())}`;
  return (
    <p>
      Costs of <b>{title}</b>
      {isHere ? `, measured on this machine${when}.` : ', which need not be this machine.'}
    </p>
  );
}
