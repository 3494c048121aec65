/** A model of which messages must be live, and which of them are held. */
import { expectThat } from '../simulator/simulation-failure.ts';

/** The messages that a transaction enqueues and consumes if it commits. */
export interface Work {
  enqueued: Set<string>;
  consumed: Set<string>;
}

export const newWork = (): Work => ({ enqueued: new Set(), consumed: new Set() });

export class KnownMessages {
  readonly #live = new Set<string>();
  readonly #held = new Set<string>();
  /** Messages enqueued by commits that are not answered yet. */
  readonly #maybeLive = new Set<string>();

  deliver(name: string): void {
    const isLive = this.#live.has(name) || this.#maybeLive.has(name);
    expectThat(isLive, () => `${name} was delivered and is not live`);
    expectThat(!this.#held.has(name), () => `${name} was delivered and is held by another`);
    this.#held.add(name);
  }

  beginCommit({ enqueued }: Work): void {
    for (const name of enqueued) this.#maybeLive.add(name);
  }

  /** The commit was refused, and the messages that it was to consume are held as before. */
  refuseCommit({ enqueued }: Work): void {
    for (const name of enqueued) this.#maybeLive.delete(name);
  }

  /** The commit is durable. */
  apply({ enqueued, consumed }: Work): void {
    for (const name of enqueued) {
      this.#maybeLive.delete(name);
      this.#live.add(name);
    }
    for (const name of consumed) {
      this.#live.delete(name);
      this.#maybeLive.delete(name);
      this.#held.delete(name);
    }
  }

  hold({ consumed }: Work): void {
    for (const name of consumed) this.#held.add(name);
  }

  release({ consumed }: Work): void {
    for (const name of consumed) this.#held.delete(name);
  }

  /** Nothing of the transaction was done. */
  forget(work: Work): void {
    this.release(work);
    this.refuseCommit(work);
  }

  /** The instance was killed, which ended all holds. */
  releaseAll(): void {
    this.#held.clear();
  }

  /** The outcome of each commit that was under way is known by now. */
  decideAll(): void {
    this.#maybeLive.clear();
  }

  /** Compares with the live messages of the file, which are given in order. */
  assertLive(stored: readonly string[]): void {
    const live = [...this.#live].sort();
    const unknown = stored.filter((name) => !this.#live.has(name));
    const missing = live.filter((name) => !stored.includes(name));
    expectThat(
      stored.join() === live.join(),
      () => `live in the file and not in the model: ${unknown}; the reverse: ${missing}`,
    );
  }
}
