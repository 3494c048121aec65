/**
 * Since when the server has not answered. Calls and event streams report what they hear of it, and every page reads the one
 * answer, so that data which is no longer known to be so is said to be stale in one place.
 */

/** One of those who hear of the server: all calls together, or one event stream. */
export interface ContactSource {
  /** It answered. */
  heard(): void;
  /** It did not answer. */
  missed(): void;
  /** Nothing is heard from it any more, because nobody asks for it. */
  close(): void;
}

export class ServerContact {
  readonly #now: () => number;
  /** Those who miss it. */
  readonly #missing = new Set<ContactSource>();
  readonly #listeners = new Set<() => void>();
  #heardAtMs: number;
  #lostSinceMs: number | null = null;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#heardAtMs = now();
  }

  /** When the server was last heard before somebody missed it, epoch milliseconds; null while nobody does. */
  readonly lostSinceMs = (): number | null => this.#lostSinceMs;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  source(): ContactSource {
    const source: ContactSource = {
      heard: () => {
        this.#heardAtMs = this.#now();
        this.#missing.delete(source);
        this.#update();
      },
      missed: () => {
        this.#missing.add(source);
        this.#update();
      },
      close: () => {
        this.#missing.delete(source);
        this.#update();
      },
    };
    return source;
  }

  #update(): void {
    const since = this.#missing.size === 0 ? null : (this.#lostSinceMs ?? this.#heardAtMs);
    if (since === this.#lostSinceMs) return;
    this.#lostSinceMs = since;
    for (const listener of this.#listeners) listener();
  }
}

/** Of the server that this page was loaded from. */
export const serverContact = new ServerContact(() => Date.now());
