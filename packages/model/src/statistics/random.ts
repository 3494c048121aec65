/**
 * A small seeded generator of random numbers: sfc32 by Chris Doty-Humphrey (PractRand), 128 bits of state, period at
 * least 2^32. The same seed gives the same numbers everywhere: its arithmetic is on 32-bit integers only.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** `seed` is a whole number; only its low 32 bits count. */
  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = 0x9e3779b9;
    this.#c = 0x243f6a88;
    // Neighbouring seeds start alike and drift apart within a dozen rounds.
    for (let round = 0; round < 15; round++) this.next();
  }

  /** Evenly spread over 0 (included) to 1 (excluded), in steps of 2^-32. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4294967296;
  }

  /** An integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  /**
   * A duration around a mean: a fixed part and an exponential one, so that the coefficient of variation is `variation`
   * (0: always the mean; 1: exponential). Durations of real work have a floor and a tail; two moments are enough here.
   */
  sampleAround(mean: number, variation: number): number {
    if (variation === 0) return mean;
    return mean * (1 - variation - variation * Math.log(1 - this.next()));
  }
}
