/**
 * An emulated client round trip: every call waits before it begins. One timer serves all sleepers of a process, since
 * a timer for each of some hundred sessions would itself be a load.
 */
import type { Clock } from './clock.ts';

/**
 * Timers fire at whole milliseconds; a sleeper due within half of one is let go, so that waits are right on average
 * instead of up to one late. What is recorded is the wait as it was.
 */
const earlyMs = 0.5;

export interface RoundTripOptions {
  ms: number;
  clock: Clock;
  /** Called with the length of each wait, milliseconds. */
  record: (ms: number) => void;
}

export class RoundTrips {
  readonly #options: RoundTripOptions;
  /** In the order in which they are due, since all sleep equally long. `#first` is the first still asleep. */
  #sleepers: { since: number; wake: () => void }[] = [];
  #first = 0;
  #armed = false;

  constructor(options: RoundTripOptions) {
    this.#options = options;
  }

  /** Resolves after one round trip. */
  wait(): Promise<void> {
    return new Promise((wake) => {
      this.#sleepers.push({ since: this.#options.clock(), wake });
      if (!this.#armed) this.#arm(this.#options.ms);
    });
  }

  #arm(ms: number): void {
    this.#armed = true;
    setTimeout(() => this.#fire(), Math.max(1, Math.round(ms)));
  }

  #fire(): void {
    const { clock, ms, record } = this.#options;
    const now = clock();
    while (this.#first < this.#sleepers.length) {
      const sleeper = this.#sleepers[this.#first]!;
      if (sleeper.since + ms - earlyMs > now) break;
      this.#first += 1;
      record(now - sleeper.since);
      sleeper.wake();
    }
    // Cutting the front off at each turn would copy the rest each time.
    if (this.#first > 1024 || this.#first === this.#sleepers.length) {
      this.#sleepers = this.#sleepers.slice(this.#first);
      this.#first = 0;
    }
    const next = this.#sleepers[this.#first];
    if (next === undefined) this.#armed = false;
    else this.#arm(next.since + ms - now);
  }
}
