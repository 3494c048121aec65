/** A set of sequence numbers as a growing bitmap: one bit per message, so that a trial can keep all of them. */
export class SequenceSet {
  #words = new Uint32Array(64);
  #used = 0;

  /** Returns false if the number was already in the set. */
  add(sequence: number): boolean {
    const index = sequence >>> 5;
    if (index >= this.#words.length) this.#grow(index + 1);
    if (index >= this.#used) this.#used = index + 1;
    const bit = 1 << (sequence & 31);
    const word = this.#words[index]!;
    if ((word & bit) !== 0) return false;
    this.#words[index] = word | bit;
    return true;
  }

  /** The words in use, least significant bit first, for transfer to another process. */
  words(): Uint32Array {
    return this.#words.slice(0, this.#used);
  }

  #grow(least: number): void {
    const grown = new Uint32Array(Math.max(least, this.#words.length * 2));
    grown.set(this.#words);
    this.#words = grown;
  }
}

/** The size of the intersection; with the same set twice, its size. */
export function countShared(a: Uint32Array, b: Uint32Array): number {
  let count = 0;
  for (let index = 0; index < Math.min(a.length, b.length); index++) count += bitCount(a[index]! & b[index]!);
  return count;
}

/** The number of elements that are at least `bound`. */
export function countAtOrAbove(words: Uint32Array, bound: number): number {
  let count = 0;
  for (let index = bound >>> 5; index < words.length; index++) {
    const mask = index === bound >>> 5 ? (-1 << (bound & 31)) >>> 0 : 0xffffffff;
    count += bitCount(words[index]! & mask);
  }
  return count;
}

/** Returns the union of two sets, which may reuse `into`. */
export function uniteInto(into: Uint32Array, more: Uint32Array): Uint32Array {
  let sum = into;
  if (more.length > into.length) {
    sum = new Uint32Array(more.length);
    sum.set(into);
  }
  for (let index = 0; index < more.length; index++) sum[index] = sum[index]! | more[index]!;
  return sum;
}

function bitCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}
