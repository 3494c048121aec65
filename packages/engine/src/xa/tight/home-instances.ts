/**
 * Calls to the home instances of tightly coupled transactions: this instance itself, or another one over the interconnect. The wait
 * for an answer is bounded, and recorded as a wait event.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { registerWaitEvent } from '../../api/waits.ts';
import type { HomeAnswer, HomeCall } from '../../model/home-calls.ts';
import type { InstanceId, LockToken } from '../../model/ids.ts';
import type { Ports } from '../../model/ports.ts';
import type { RecordedTime, WaitRecorder } from '../../model/wait-recorder.ts';
import { within } from '../../model/within.ts';
import { HomeCaller } from './home-caller.ts';
import { recordedAnswer } from './peer-answer.ts';
import type { ShippedBranches } from './shipped-branches.ts';
import { TransactionLocks } from './transaction-locks.ts';

export const globalTransactionLock = registerWaitEvent({
  name: 'global transaction lock',
  class: 'concurrency',
  standsFor: 'DFS lock handle',
  about:
    'a branch waits for the lock of its tightly coupled transaction, including the round trip to the home instance',
});

/** Sends calls to home instances in other processes. `cluster/interconnect/` implements it. */
export interface HomePeers {
  /** If it rejects, it is unknown whether the call was carried out. */
  callHome(home: InstanceId, call: HomeCall): Promise<HomeAnswer>;
}

export interface HomeInstancesOptions {
  instance: InstanceId;
  shipped: ShippedBranches;
  waits: Pick<WaitRecorder, 'record'>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class HomeInstances {
  readonly instance: InstanceId;
  readonly shipped: ShippedBranches;
  readonly #locks: TransactionLocks;
  readonly #own: HomeCaller;
  readonly #waits: HomeInstancesOptions['waits'];
  readonly #ports: HomeInstancesOptions['ports'];
  #peers: HomePeers | undefined;
  #lastToken: LockToken = 0;
  #endReason: QueueError | undefined;

  constructor({ instance, shipped, waits, ports }: HomeInstancesOptions) {
    this.instance = instance;
    this.shipped = shipped;
    this.#waits = waits;
    this.#ports = ports;
    this.#locks = new TransactionLocks(ports.timers);
    this.#own = this.openCaller();
  }

  /** Undefined: the other instances cannot be reached. */
  set peers(peers: HomePeers | undefined) {
    this.#peers = peers;
  }

  /** Opens a caller for one connection. */
  openCaller(): HomeCaller {
    return new HomeCaller(this.#locks, this.shipped);
  }

  /** Names a lock of this instance: unique for as long as it is open. */
  nextToken(): LockToken {
    this.#lastToken += 1;
    return this.#lastToken;
  }

  /**
   * Rejects with what the home instance answers, and with `INSTANCE_UNREACHABLE` if it does not. `time`: of the session that waits.
   * Without one the wait is recorded for the instance alone.
   */
  async call<T extends HomeAnswer>(
    home: InstanceId,
    call: HomeCall,
    time: RecordedTime | undefined,
  ): Promise<T> {
    if (this.#endReason !== undefined) throw this.#endReason;
    const waits = home !== this.instance || this.#own.wouldWait(call);
    const answer = this.#send(home, call) as Promise<T>;
    if (!waits) {
      time?.answer();
      return await answer;
    }
    return await recordedAnswer(answer, globalTransactionLock, {
      waits: this.#waits,
      ports: this.#ports,
      time,
    });
  }

  /** Sends a call without waiting for its answer. */
  notify(home: InstanceId, call: HomeCall): void {
    this.#send(home, call).catch(() => undefined);
  }

  #send(home: InstanceId, call: HomeCall): Promise<HomeAnswer> {
    if (home === this.instance) return this.#own.call(call);
    if (this.#peers === undefined) return Promise.reject(this.#unreachable(home));
    const msMax = limits.homeAnswerMs + ('waitMs' in call ? call.waitMs : 0);
    const answer = this.#peers.callHome(home, call);
    return within(this.#ports.timers, { msMax, late: () => this.#unreachable(home, msMax) }, () => answer);
  }

  #unreachable(home: InstanceId, msMax?: number): QueueError {
    return new QueueError('INSTANCE_UNREACHABLE', {
      message:
        msMax === undefined
          ? `Instance ${this.instance} is not served: it cannot reach the home instance ${home} of the transaction`
          : `The home instance ${home} of the transaction did not answer within ${msMax} ms`,
      details: { instance: home },
    });
  }

  /** The instance has stopped serving: ends all waits for its locks. */
  end(reason: QueueError): void {
    this.#endReason ??= reason;
    this.#locks.refuseAll(reason);
    this.shipped.close();
  }
}
