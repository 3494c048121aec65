/** Reproducible random numbers from a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A number from 0 to 1, exclusive. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `end`, exclusive. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  /** `count` different elements, in random order. */
  pickSeveral<T>(from: readonly T[], count: number): T[] {
    const rest = [...from];
    return Array.from(
      { length: Math.min(count, rest.length) },
      () => rest.splice(this.below(rest.length), 1)[0]!,
    );
  }

  /** A generator with a seed drawn from this one. */
  fork(): Random {
    return new Random(this.below(2 ** 31));
  }
}

/** Draws kinds: each of them once first, in random order, so that a short run has them all, and then by their weights. */
export class Draws<T extends { readonly weight: number }> {
  readonly #random: Random;
  readonly #byWeight: readonly T[];
  readonly #first: T[];

  constructor(kinds: readonly T[], random: Random) {
    this.#random = random;
    this.#byWeight = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));
    this.#first = random.pickSeveral(kinds, kinds.length);
  }

  next(): T {
    return this.#first.pop() ?? this.#random.pick(this.#byWeight);
  }
}
