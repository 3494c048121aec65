/**
 * The ticks kept of a run, evenly spread over its whole duration. Each tick has a number. When a limit is exceeded,
 * every second kept tick is dropped, and the stride at which new ticks are kept doubles.
 */
import type { Tick } from '@shardlab/contract';

export interface TickHistoryOptions {
  countMax: number;
  bytesMax: number;
}

export class TickHistory {
  readonly #options: TickHistoryOptions;
  #kept: { number: number; tick: Tick; bytes: number }[] = [];
  #bytes = 0;
  #stride = 1;
  #next = 0;

  constructor(options: TickHistoryOptions) {
    this.#options = options;
  }

  /** Takes back what a stored copy kept, in the order of the numbers; further ticks continue after it. */
  restore(kept: readonly { number: number; tick: Tick; bytes: number }[]): void {
    this.#kept = [...kept];
    this.#bytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#next = (kept.at(-1)?.number ?? -1) + 1;
    while (kept.length > 1 && kept.every(({ number }) => number % (2 * this.#stride) === 0))
      this.#stride *= 2;
  }

  get ticks(): Tick[] {
    return this.#kept.map(({ tick }) => tick);
  }

  /**
   * Returns what a stored copy must do: keep this tick under the number `keepAs`, then drop all ticks whose number is
   * not a multiple of `thinTo`.
   */
  add(tick: Tick, bytes: number): { keepAs: number | null; thinTo: number | null } {
    const number = this.#next;
    this.#next += 1;
    if (number % this.#stride !== 0) return { keepAs: null, thinTo: null };
    this.#kept.push({ number, tick, bytes });
    this.#bytes += bytes;
    if (!this.#overBounds()) return { keepAs: number, thinTo: null };
    while (this.#overBounds() && this.#kept.length > 1) this.#thin();
    return { keepAs: number, thinTo: this.#stride };
  }

  #overBounds(): boolean {
    return this.#kept.length > this.#options.countMax || this.#bytes > this.#options.bytesMax;
  }

  #thin(): void {
    this.#stride *= 2;
    this.#kept = this.#kept.filter(({ number }) => number % this.#stride === 0);
    this.#bytes = this.#kept.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
