/**
 * Counts durations in buckets of equal ratio. The bucket is read off the bits of the number: its exponent and the first
 * five bits of its mantissa, so 32 buckets a doubling and a quantile within 1.6 % (the idea of HdrHistogram, G. Tene).
 */
const lowestExponent = -10; // a thousandth of a microsecond
const doublings = 54;
const perDoubling = 32;
const buckets = doublings * perDoubling;

const number = new Float64Array(1);
/** The upper half holds sign, exponent and the high bits of the mantissa on every platform that JavaScript runs on today. */
const halves = new Uint32Array(number.buffer);
const firstBucket = (1023 + lowestExponent) * perDoubling;

export class LogHistogram {
  readonly #counts = new Float64Array(buckets);
  #count = 0;
  #sum = 0;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  get max(): number {
    return this.#max;
  }

  record(duration: number, weight = 1): void {
    number[0] = duration;
    const raw = (halves[1]! >>> 15) - firstBucket;
    const bucket = raw < 0 ? 0 : raw >= buckets ? buckets - 1 : raw;
    this.#counts[bucket] = this.#counts[bucket]! + weight;
    this.#count += weight;
    this.#sum += duration * weight;
    if (duration > this.#max) this.#max = duration;
  }

  /** The duration below which the share `quantile` (0 to 1) lies: the middle of its bucket. 0 without values. */
  quantile(quantile: number): number {
    const rank = this.#count * quantile;
    let seen = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const count = this.#counts[bucket]!;
      seen += count;
      if (count > 0 && seen >= rank) return Math.min(middleOf(bucket), this.#max);
    }
    return 0;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#sum = 0;
    this.#max = 0;
  }
}

function middleOf(bucket: number): number {
  const exponent = lowestExponent + Math.floor(bucket / perDoubling);
  return 2 ** exponent * (1 + ((bucket % perDoubling) + 0.5) / perDoubling);
}
