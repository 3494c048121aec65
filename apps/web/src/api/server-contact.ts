/**
 * Since when the server has not answered. Calls and event streams report each answer and failure, and every page reads the
 * result, so that stale data is marked as such in one place.
 */

/** A source of reports about the server: all calls together, or one event stream. */
export interface ContactSource {
  /** It answered. */
  heard(): void;
  /** It did not answer. */
  missed(): void;
  /** Ends the source, because it is not used any more. */
  close(): void;
}

export class ServerContact {
  readonly #now: () => number;
  /** Sources that currently get no answer. */
  readonly #missing = new Set<ContactSource>();
  readonly #listeners = new Set<() => void>();
  #heardAtMs: number;
  #lostSinceMs: number | null = null;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#heardAtMs = now();
  }

  /** When the server last answered before a source lost it, epoch milliseconds; null while all sources get answers. */
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

/** Contact with the server that this page was loaded from. */
export const serverContact = new ServerContact(() => Date.now());
