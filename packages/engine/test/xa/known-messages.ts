/** Which messages must be live, and which of them somebody holds. */
import { expectThat } from '../simulator/simulation-failure.ts';

/** What a transaction does if it commits. */
export interface Work {
  enqueued: Set<string>;
  consumed: Set<string>;
}

export const newWork = (): Work => ({ enqueued: new Set(), consumed: new Set() });

export class KnownMessages {
  readonly #live = new Set<string>();
  readonly #held = new Set<string>();
  /** Messages of commits that were sent and not answered. */
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

  /** The commit did nothing, and what it was to consume is held as before. */
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

  /** Nothing of it was done. */
  forget(work: Work): void {
    this.release(work);
    this.refuseCommit(work);
  }

  /** The instance was killed. */
  releaseAll(): void {
    this.#held.clear();
  }

  /** Of each commit that was under way it is known now whether it was done. */
  decideAll(): void {
    this.#maybeLive.clear();
  }

  /** `stored`: the live messages of the file, in order. */
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
