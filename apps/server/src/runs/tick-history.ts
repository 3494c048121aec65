/**
 * The ticks kept of a run, evenly spread over its whole duration. Each tick has a number. When a limit is exceeded,
 * every second kept tick is dropped, and the stride at which new ticks are kept doubles. Ticks are JSON, as they are stored and sent.
 */
import type { KeptTick } from '../store/run-store.ts';

export interface TickHistoryOptions {
  countMax: number;
  bytesMax: number;
}

const sizeOf = (kept: readonly KeptTick[]) => kept.reduce((sum, { json }) => sum + json.length, 0);

export class TickHistory {
  readonly #options: TickHistoryOptions;
  #kept: KeptTick[] = [];
  #bytes = 0;
  #stride = 1;
  #next = 0;

  constructor(options: TickHistoryOptions) {
    this.#options = options;
  }

  /** Takes back what a stored copy kept, in the order of the numbers; further ticks continue after it. */
  restore(kept: readonly KeptTick[]): void {
    this.#kept = [...kept];
    this.#bytes = sizeOf(kept);
    this.#next = (kept.at(-1)?.number ?? -1) + 1;
    while (kept.length > 1 && kept.every(({ number }) => number % (2 * this.#stride) === 0))
      this.#stride *= 2;
  }

  get kept(): readonly KeptTick[] {
    return this.#kept;
  }

  /** An array of the kept ticks. */
  get json(): string {
    return `[${this.#kept.map(({ json }) => json).join(',')}]`;
  }

  /**
   * Returns what a stored copy must do: keep this tick under the number `keepAs`, then drop all ticks whose number is
   * not a multiple of `thinTo`.
   */
  add(json: string): { keepAs: number | null; thinTo: number | null } {
    const number = this.#next;
    this.#next += 1;
    if (number % this.#stride !== 0) return { keepAs: null, thinTo: null };
    this.#kept.push({ number, json });
    this.#bytes += json.length;
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
    this.#bytes = sizeOf(this.#kept);
  }
}
