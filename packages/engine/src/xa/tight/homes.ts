/**
 * The home instances of tightly coupled transactions, as one instance reaches them: itself, or another over the interconnect.
 * Waiting for an answer is a wait event, and has a bound.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { registerWaitEvent } from '../../api/waits.ts';
import type { HomeAnswer, HomeCall } from '../../model/home-calls.ts';
import type { Ports } from '../../model/ports.ts';
import type { RecordedTime, WaitRecorder } from '../../model/wait-recorder.ts';
import { HomeCaller } from './home-caller.ts';
import type { ShippedBranches } from './shipped-branches.ts';
import { TransactionLocks } from './transaction-locks.ts';

export const globalTransactionLock = registerWaitEvent({
  name: 'global transaction lock',
  class: 'concurrency',
  about:
    'a branch waits for the lock of its tightly coupled transaction, with the messages to its home instance and back',
});

/** How calls reach the home instance of another process. `cluster/interconnect/` implements it. */
export interface HomePeers {
  /** If it rejects, nobody here knows whether the call was carried out. */
  callHome(home: number, call: HomeCall): Promise<HomeAnswer>;
}

export interface HomesOptions {
  instance: number;
  shipped: ShippedBranches;
  waits: Pick<WaitRecorder, 'record'>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class Homes {
  readonly instance: number;
  readonly shipped: ShippedBranches;
  readonly #locks: TransactionLocks;
  readonly #own: HomeCaller;
  readonly #waits: HomesOptions['waits'];
  readonly #ports: HomesOptions['ports'];
  #peers: HomePeers | undefined;
  #lastToken = 0;
  #endReason: QueueError | undefined;

  constructor({ instance, shipped, waits, ports }: HomesOptions) {
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

  /** For the calls of one connection. */
  openCaller(): HomeCaller {
    return new HomeCaller(this.#locks, this.shipped);
  }

  /** Names a lock of this instance: unique for as long as it is open. */
  nextToken(): number {
    this.#lastToken += 1;
    return this.#lastToken;
  }

  /**
   * Rejects with what the home instance answers, and with `INSTANCE_UNREACHABLE` if it does not. `time`: of the session that waits;
   * without one the wait is recorded for none.
   */
  async call<T extends HomeAnswer>(home: number, call: HomeCall, time: RecordedTime | undefined): Promise<T> {
    if (this.#endReason !== undefined) throw this.#endReason;
    const waits = home !== this.instance || this.#own.wouldWait(call);
    const answer = this.#send(home, call) as Promise<T>;
    return waits ? await this.#recorded(answer, time) : await answer;
  }

  async #recorded<T>(answer: Promise<T>, time: RecordedTime | undefined): Promise<T> {
    const { clock } = this.#ports;
    const startMs = clock.monotonicMs();
    time?.begin(globalTransactionLock);
    try {
      return await answer;
    } finally {
      if (time === undefined) this.#waits.record(globalTransactionLock, clock.monotonicMs() - startMs);
      else time.end();
    }
  }

  /** Where no answer is needed, or none can be waited for. */
  notify(home: number, call: HomeCall): void {
    this.#send(home, call).catch(() => undefined);
  }

  #send(home: number, call: HomeCall): Promise<HomeAnswer> {
    if (home === this.instance) return this.#own.call(call);
    if (this.#peers === undefined) return Promise.reject(this.#unreachable(home));
    const msMax = limits.homeAnswerMs + ('waitMs' in call ? call.waitMs : 0);
    const late = Promise.withResolvers<never>();
    const timer = this.#ports.timers.deadline(msMax, () => late.reject(this.#unreachable(home, msMax)));
    const answer = this.#peers.callHome(home, call);
    return Promise.race([answer, late.promise]).finally(() => timer.cancel());
  }

  #unreachable(home: number, msMax?: number): QueueError {
    return new QueueError('INSTANCE_UNREACHABLE', {
      message:
        msMax === undefined
          ? `Instance ${this.instance} is not served: it cannot reach the home instance ${home} of the transaction`
          : `The home instance ${home} of the transaction did not answer within ${msMax} ms`,
      details: { instance: home },
    });
  }

  /** The instance serves no more: nobody waits for it. */
  end(reason: QueueError): void {
    this.#endReason ??= reason;
    this.#locks.refuseAll(reason);
    this.shipped.close();
  }
}
