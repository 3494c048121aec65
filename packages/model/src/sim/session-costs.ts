/** What the steps of a session's transaction cost in one kind of queue, as straight lines over the messages of a step. */
import type { ClusterCosts } from '../hardware/costs.ts';
import type { ModelWorkload } from './workload.ts';

/** `fixedUs + messages · perMessageUs` */
export interface StepCost {
  fixedUs: number;
  perMessageUs: number;
}

export interface SessionCosts {
  enqueueCall: StepCost;
  dequeueCall: StepCost;
  commit: StepCost;
  /** In the block at each call; null where a call changes nothing there. */
  enqueueCallBlock: StepCost | null;
  dequeueCallBlock: StepCost | null;
  /** In the block at the commit. */
  enqueueCommitBlock: StepCost | null;
  dequeueCommitBlock: StepCost | null;
  /** For each message held by others that a dequeue walks past. */
  skipUs: number;
  /** The blocks that enqueuers and dequeuers change. */
  enqueueBlock: number;
  dequeueBlock: number;
  blocks: number;
}

export function sessionCosts(costs: ClusterCosts, { kind, subscribers }: ModelWorkload): SessionCosts {
  const { clientEnqueueUs, clientDequeueUs, clientTransactionUs } = costs.sessions;
  const { callUs, enqueueUs, dequeueUs, transactionUs } = costs[kind];
  const outside = {
    enqueueCall: { fixedUs: callUs, perMessageUs: enqueueUs + clientEnqueueUs },
    dequeueCall: { fixedUs: callUs, perMessageUs: dequeueUs + clientDequeueUs },
    commit: { fixedUs: transactionUs + clientTransactionUs, perMessageUs: 0 },
  };
  if (kind === 'sharded') {
    return {
      ...outside,
      enqueueCallBlock: null,
      dequeueCallBlock: null,
      enqueueCommitBlock: null,
      dequeueCommitBlock: null,
      skipUs: 0,
      enqueueBlock: 0,
      dequeueBlock: 0,
      blocks: 0,
    };
  }
  const { enter, claim, leave, skipUs, blocks } = costs.unsharded;
  const entering = { fixedUs: enter.visitUs, perMessageUs: enter.entryUs * subscribers };
  return {
    ...outside,
    enqueueCallBlock: enter.at === 'call' ? entering : null,
    dequeueCallBlock: { fixedUs: claim.visitUs, perMessageUs: claim.messageUs },
    enqueueCommitBlock: enter.at === 'commit' ? entering : null,
    dequeueCommitBlock: leave === null ? null : { fixedUs: leave.visitUs, perMessageUs: leave.messageUs },
    skipUs,
    enqueueBlock: 0,
    dequeueBlock: blocks - 1,
    blocks,
  };
}
