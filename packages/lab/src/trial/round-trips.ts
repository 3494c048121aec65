/**
 * Emulates client round trips: every call waits before it begins. One timer serves all waiting sessions of a process,
 * because a timer for each of several hundred sessions would itself be a load.
 */
import type { SessionTime } from '@shardlab/engine';
import type { Clock } from '../meters/clock.ts';
import { clientRoundTrip } from '../meters/load-waits.ts';

/**
 * Timers fire at whole milliseconds. A wait that is due within half a millisecond ends, so that waits are correct on
 * average instead of up to one millisecond late. The actual wait is in the session's time book.
 */
const earlyMs = 0.5;

export interface RoundTripOptions {
  ms: number;
  clock: Clock;
}

export class RoundTrips {
  readonly #options: RoundTripOptions;
  /** Sleepers in the order of their ends, because all waits are equally long. `#first` is the index of the first that still waits. */
  #sleepers: { since: number; time: SessionTime; wake: () => void }[] = [];
  #first = 0;
  #armed = false;

  constructor(options: RoundTripOptions) {
    this.#options = options;
  }

  /** Resolves after one round trip, which is a wait in the time book of the session. */
  wait(time: SessionTime): Promise<void> {
    time.begin(clientRoundTrip);
    return new Promise((wake) => {
      this.#sleepers.push({ since: this.#options.clock(), time, wake });
      if (!this.#armed) this.#arm(this.#options.ms);
    });
  }

  #arm(ms: number): void {
    this.#armed = true;
    setTimeout(() => this.#fire(), Math.max(1, Math.round(ms)));
  }

  #fire(): void {
    const { clock, ms } = this.#options;
    const now = clock();
    while (this.#first < this.#sleepers.length) {
      const sleeper = this.#sleepers[this.#first]!;
      if (sleeper.since + ms - earlyMs > now) break;
      this.#first += 1;
      sleeper.time.end();
      sleeper.wake();
    }
    // Removing the front at each turn would copy the rest each time.
    if (this.#first > 1024 || this.#first === this.#sleepers.length) {
      this.#sleepers = this.#sleepers.slice(this.#first);
      this.#first = 0;
    }
    const next = this.#sleepers[this.#first];
    if (next === undefined) this.#armed = false;
    else this.#arm(next.since + ms - now);
  }
}
