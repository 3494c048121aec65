/** Runs the calls of a service one at a time, in the order of their arrival. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Timers } from '../model/ports.ts';

export class CallQueue {
  readonly #timers: Timers;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Resolves with what `work` does. A caller waits for `serviceCallMsMax` at most; work that takes longer still keeps the
   * next call waiting, because two must never run at once. Throws `SERVICE_BUSY`.
   */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#waiting >= limits.serviceCallsWaitingMax) {
      throw new QueueError('SERVICE_BUSY', { details: { callsMax: limits.serviceCallsWaitingMax } });
    }
    this.#waiting += 1;
    const done = this.#last.then(work).finally(() => {
      this.#waiting -= 1;
    });
    this.#last = done.catch(() => undefined);
    const late = Promise.withResolvers<never>();
    const timer = this.#timers.deadline(limits.serviceCallMsMax, () =>
      late.reject(
        new QueueError('SERVICE_CALL_UNKNOWN', {
          message: `The service did not answer within ${limits.serviceCallMsMax} ms: the call may still take effect`,
          details: { msMax: limits.serviceCallMsMax },
        }),
      ),
    );
    return Promise.race([done, late.promise]).finally(() => timer.cancel());
  }

  /** Resolves when none is left. */
  async whenIdle(): Promise<void> {
    await this.#last;
  }
}
