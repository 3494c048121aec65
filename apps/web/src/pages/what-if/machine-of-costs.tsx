import type { Hardware } from '@shardlab/contract';

/** On which machine the costs were measured, and whether it is the one that runs the server. */
export function MachineOfCosts({ machine, isHere }: { machine: Hardware; isHere: boolean }) {
  return (
    <p>
      Costs of <b>{machine.title}</b>
      {isHere ? ', measured on this machine.' : ', which need not be this machine.'}
    </p>
  );
}
