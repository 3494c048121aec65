/** What other instances want of a queue, in the order in which they asked; each asks for one batch at a time. */
export interface PeerWant {
  max: number;
  /** The peer got it, or does not want it any more. */
  spent(): void;
}

export class PeerWants {
  readonly #wants = new Map<number, PeerWant>();
  readonly #lastAt = new Map<number, number>();

  get size(): number {
    return this.#wants.size;
  }

  /** Resolves when the want is spent. */
  add(peer: number, max: number): Promise<void> {
    this.drop(peer);
    this.#lastAt.set(peer, performance.now());
    return new Promise((spent) => this.#wants.set(peer, { max, spent }));
  }

  drop(peer: number): void {
    this.#wants.get(peer)?.spent();
    this.#wants.delete(peer);
  }

  dropAll(): void {
    for (const peer of [...this.#wants.keys()]) this.drop(peer);
  }

  /** It is being served: it is spent when that is done. */
  take(peer: number): PeerWant {
    const want = this.#wants.get(peer)!;
    this.#wants.delete(peer);
    this.#lastAt.set(peer, performance.now());
    return want;
  }

  peers(): number[] {
    return [...this.#wants.keys()];
  }

  /** When a peer last wanted something: now, if it does. On the monotonic clock. */
  lastAt(peer: number): number {
    if (this.#wants.has(peer)) return Number.POSITIVE_INFINITY;
    return this.#lastAt.get(peer) ?? Number.NEGATIVE_INFINITY;
  }
}
