/** The pause before a failed attempt is repeated. Ends early, with a rejection, when its queue is closed. */
import { limits } from '../api/limits.ts';
import type { Timer, Timers } from '../model/ports.ts';

/** The queue is closed at this instance: whatever waited here for another attempt stops. */
export class ForwardingClosed extends Error {}

export class RetryPause {
  readonly #timers: Timers;
  readonly #pending = new Map<Timer, (error: ForwardingClosed) => void>();
  #closed = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves after `forwardRetryMs`. Rejects with `ForwardingClosed` at the end of the queue. */
  wait(): Promise<void> {
    if (this.#closed) return Promise.reject(new ForwardingClosed());
    return new Promise((resolve, reject) => {
      const timer = this.#timers.after(limits.forwardRetryMs, () => {
        this.#pending.delete(timer);
        resolve();
      });
      this.#pending.set(timer, reject);
    });
  }

  close(): void {
    this.#closed = true;
    for (const [timer, reject] of this.#pending) {
      timer.cancel();
      reject(new ForwardingClosed());
    }
    this.#pending.clear();
  }
}
