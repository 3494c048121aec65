/**
 * The ticks that are kept of a run, for reload and for the history: evenly spread over the whole of it. Each tick has a
 * number; past a bound every second one of those kept goes, and from then on every second new one is not kept.
 */
import type { Tick } from '@shardlab/contract';

export interface TickHistoryOptions {
  countMax: number;
  bytesMax: number;
}

export class TickHistory {
  readonly #options: TickHistoryOptions;
  #kept: { no: number; tick: Tick; bytes: number }[] = [];
  #bytes = 0;
  #stride = 1;
  #next = 0;

  constructor(options: TickHistoryOptions) {
    this.#options = options;
  }

  get ticks(): Tick[] {
    return this.#kept.map(({ tick }) => tick);
  }

  /**
   * Tells what a copy elsewhere must do too: keep this tick under its number, then drop all numbers that `thinTo` does
   * not divide.
   */
  add(tick: Tick, bytes: number): { keepAs: number | null; thinTo: number | null } {
    const no = this.#next;
    this.#next += 1;
    if (no % this.#stride !== 0) return { keepAs: null, thinTo: null };
    this.#kept.push({ no, tick, bytes });
    this.#bytes += bytes;
    if (!this.#overBounds()) return { keepAs: no, thinTo: null };
    while (this.#overBounds() && this.#kept.length > 1) this.#thin();
    return { keepAs: no, thinTo: this.#stride };
  }

  #overBounds(): boolean {
    return this.#kept.length > this.#options.countMax || this.#bytes > this.#options.bytesMax;
  }

  #thin(): void {
    this.#stride *= 2;
    this.#kept = this.#kept.filter((each) => each.no % this.#stride === 0);
    this.#bytes = this.#kept.reduce((sum, each) => sum + each.bytes, 0);
  }
}
