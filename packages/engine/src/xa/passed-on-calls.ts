/**
 * Calls about a branch of another instance, which a transaction manager makes to this one: each is passed on over the interconnect,
 * and its answer passed back. This instance keeps nothing of the call, so a branch is as safe as with calls to its own instance: a
 * caller that lost the answer asks that instance with `recover`.
 */

import { registerCounter } from '../api/counters.ts';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { registerWaitEvent } from '../api/waits.ts';
import type { InstanceId } from '../model/ids.ts';
import type { PassedOnAnswer, PassedOnCall } from '../model/passed-on-call.ts';
import type { Ports } from '../model/ports.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import { within } from '../model/within.ts';
import { xaError } from '../model/xa-error.ts';
import { transactionKey, validateXid } from '../model/xid.ts';
import { recordedAnswer } from './tight/peer-answer.ts';
import type { LockWaiter } from './tight/tight-branch.ts';

export const passedOnCall = registerWaitEvent({
  name: 'passed-on call',
  class: 'network',
  standsFor: null,
  about:
    'a call about a branch that another instance has: on the way there and back, and while it is carried out there',
});

export const preparesPassedOn = registerCounter({
  name: 'prepares passed on',
  unit: 'prepares',
  about: 'prepares of branches of another instance, which this one passed on to it and got an answer for',
});

/** Sends calls to instances of other processes. `cluster/interconnect/` implements it. */
export interface BranchPeers {
  /** If it rejects with `INSTANCE_UNREACHABLE`, it is unknown whether the call was carried out. */
  callBranch(instance: InstanceId, call: PassedOnCall): Promise<PassedOnAnswer>;
}

export interface PassedOnCallsOptions {
  instance: InstanceId;
  waits: Pick<WaitRecorder, 'record' | 'add'>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class PassedOnCalls {
  readonly #options: PassedOnCallsOptions;
  #peers: BranchPeers | undefined;

  constructor(options: PassedOnCallsOptions) {
    this.#options = options;
  }

  /** Undefined: the other instances cannot be reached. */
  set peers(peers: BranchPeers | undefined) {
    this.#peers = peers;
  }

  /** Whether a call with this `instance` is about a branch of another instance. Throws `XAER_INVAL`. */
  isElsewhere(instance: InstanceId | undefined): instance is number {
    const { instancesMax } = limits;
    if (instance === undefined) return false;
    if (!Number.isInteger(instance) || instance < 1 || instance > instancesMax)
      throw new QueueError('XAER_INVAL', { message: `instance must be 1 to ${instancesMax}` });
    return instance !== this.#options.instance;
  }

  /** Rejects with what the other instance answers, and with `XAER_RMFAIL` if it does not: the call may have taken effect. */
  async send(
    instance: InstanceId,
    { xid, ...call }: Omit<PassedOnCall, 'mayWait'>,
    { time, mayWaitFor }: LockWaiter,
  ): Promise<PassedOnAnswer> {
    const valid = validateXid(xid);
    const mayWait = mayWaitFor(transactionKey(valid));
    try {
      const answer = this.#send(instance, { ...call, xid: valid, mayWait });
      const answered = await recordedAnswer(answer, passedOnCall, { ...this.#options, time });
      if (call.call === 'prepare') this.#options.waits.add(preparesPassedOn);
      return answered;
    } catch (error) {
      throw xaError(error, 'XAER_RMERR');
    }
  }

  async #send(instance: InstanceId, call: PassedOnCall): Promise<PassedOnAnswer> {
    const unreachable = (message: string) =>
      new QueueError('INSTANCE_UNREACHABLE', { message, details: { instance } });
    if (this.#peers === undefined)
      throw unreachable(
        `Instance ${this.#options.instance} is not served: it cannot reach instance ${instance}`,
      );
    const { xaCallMsMax: msMax } = limits;
    const late = () =>
      unreachable(`Instance ${instance}, which has the branch, did not answer within ${msMax} ms`);
    const answer = this.#peers.callBranch(instance, call);
    return within(this.#options.ports.timers, { msMax, late }, () => answer);
  }
}
