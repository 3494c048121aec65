/** Costs of the steps of a session's transaction in one kind of queue, linear in the messages of a step. */
import type { ClusterCosts } from './costs.ts';
import type { ModelWorkload } from './workload.ts';

/** `fixedUs + messages · perMessageUs` */
export interface StepCost {
  fixedUs: number;
  perMessageUs: number;
}

/** Costs of an enqueuer or a dequeuer. */
export interface RoleCosts {
  call: StepCost;
  commit: StepCost;
  /** The block of the global index that it changes, and what that costs at each call or at the commit; null: nothing. */
  block: number;
  callInBlock: StepCost | null;
  commitInBlock: StepCost | null;
  /** Cost for each message held by others that a call skips. */
  skipUs: number;
}

export interface SessionCosts {
  enqueuer: RoleCosts;
  dequeuer: RoleCosts;
}

export function sessionCosts(costs: ClusterCosts, { kind, subscribers }: ModelWorkload): SessionCosts {
  const { clientEnqueueUs, clientDequeueUs, clientTransactionUs } = costs.sessions;
  const { callUs, enqueueUs, dequeueUs, transactionUs } = costs[kind];
  const outside = {
    commit: { fixedUs: transactionUs + clientTransactionUs, perMessageUs: 0 },
    block: 0,
    callInBlock: null,
    commitInBlock: null,
    skipUs: 0,
  };
  const enqueuer = { ...outside, call: { fixedUs: callUs, perMessageUs: enqueueUs + clientEnqueueUs } };
  const dequeuer = {
    ...outside,
    call: { fixedUs: callUs, perMessageUs: dequeueUs },
    // The client processes its messages after the call has returned.
    commit: { ...outside.commit, perMessageUs: clientDequeueUs },
  };
  if (kind === 'sharded') return { enqueuer, dequeuer };

  const { enter, claim, leave, skipUs, blocks } = costs.unsharded;
  const entering = { fixedUs: enter.visitUs, perMessageUs: enter.entryUs * subscribers };
  return {
    enqueuer: {
      ...enqueuer,
      ...(enter.at === 'call' ? { callInBlock: entering } : { commitInBlock: entering }),
    },
    dequeuer: {
      ...dequeuer,
      block: blocks - 1,
      callInBlock: { fixedUs: claim.visitUs, perMessageUs: claim.messageUs },
      commitInBlock: leave === null ? null : { fixedUs: leave.visitUs, perMessageUs: leave.messageUs },
      skipUs,
    },
  };
}

export function costOf({ fixedUs, perMessageUs }: StepCost, messages: number): number {
  return fixedUs + messages * perMessageUs;
}
