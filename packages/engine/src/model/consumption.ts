/** Consumption: ranges of sequence numbers, their encoding as consumption deltas, and one subscriber's record of them. */
import type { Seq } from './ids.ts';
import { InvariantViolation } from './invariant.ts';

/** `end` is exclusive. */
export type SeqRange = readonly [start: Seq, end: Seq];

/** Sorted, merged ranges of a list of distinct sequence numbers; the list is sorted in place. */
export function rangesOfSeqs(seqs: Seq[]): SeqRange[] {
  seqs.sort((a, b) => a - b);
  const ranges: [start: Seq, end: Seq][] = [];
  for (const seq of seqs) {
    const last = ranges.at(-1);
    if (last !== undefined && seq === last[1]) last[1] = seq + 1;
    else ranges.push([seq, seq + 1]);
  }
  return ranges;
}

/** Sorts ranges and merges those that touch or overlap. */
export function mergeRanges(ranges: readonly SeqRange[]): SeqRange[] {
  const merged: [start: Seq, end: Seq][] = [];
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

/** What both have; sorted and merged ranges, as they are. */
export function intersectRanges(a: readonly SeqRange[], b: readonly SeqRange[]): SeqRange[] {
  const common: SeqRange[] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    const [from, to] = [Math.max(a[i]![0], b[j]![0]), Math.min(a[i]![1], b[j]![1])];
    if (from < to) common.push([from, to]);
    if (a[i]![1] < b[j]![1]) i += 1;
    else j += 1;
  }
  return common;
}

/** Separates the numbers of ranges that are in a set from the others. O(numbers). */
export function splitRanges(
  ranges: readonly SeqRange[],
  seqs: ReadonlySet<Seq>,
): { within: Seq[]; outside: SeqRange[] } {
  const within: Seq[] = [];
  const outside: Seq[] = [];
  for (const [start, end] of ranges) {
    for (let seq = start; seq < end; seq += 1) (seqs.has(seq) ? within : outside).push(seq);
  }
  return { within, outside: rangesOfSeqs(outside) };
}

/** How many numbers from `seq` on, up to `max`, come before the next of these sorted ranges; 0 inside one. O(log n). */
export function countBeforeRanges(ranges: readonly SeqRange[], seq: Seq, max: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle]![1] <= seq) low = middle + 1;
    else high = middle;
  }
  const next = ranges[low];
  return next === undefined ? max : Math.max(0, Math.min(max, next[0] - seq));
}

/** Encodes ranges as pairs of varints (distance from the end of the previous range, length), counted from `base`. */
export function encodeRanges(ranges: readonly SeqRange[], base: Seq): number[] {
  const bytes: number[] = [];
  let from = base;
  for (const [start, end] of ranges) {
    pushVarint(bytes, start - from);
    pushVarint(bytes, end - start);
    from = end;
  }
  return bytes;
}

export function decodeRanges(bytes: Uint8Array, base: Seq): SeqRange[] {
  const ranges: SeqRange[] = [];
  let at = 0;
  const next = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError('the encoded ranges end in the middle of a number');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  let from = base;
  while (at < bytes.length) {
    const start = from + next();
    const end = start + next();
    ranges.push([start, end]);
    from = end;
  }
  return ranges;
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

/**
 * Which sequence numbers of one log are terminal for one subscriber (consumed, not addressed to it, or a gap that no
 * commit filled): a watermark below which all are terminal, and merged ranges above it. Concurrent consumers finish
 * slightly out of order, so few ranges exist at a time; adding one is O(1) whatever their number.
 */
export class Consumption {
  /** Everything below is terminal. */
  watermark: Seq;
  /** Terminal messages above the watermark. */
  #countAboveWatermark = 0;
  readonly #endByStart = new Map<Seq, Seq>();
  readonly #startByEnd = new Map<Seq, Seq>();

  constructor(watermark: Seq) {
    this.watermark = watermark;
  }

  /** Counts terminal sequence numbers from `first` up; `first` must not be above the watermark. */
  terminalCountFrom(first: Seq): number {
    return this.watermark - first + this.#countAboveWatermark;
  }

  /** Counts terminal sequence numbers from `start` up to but excluding `end`. O(ranges above the watermark). */
  terminalCountBetween(start: Seq, end: Seq): number {
    let count = Math.max(0, Math.min(end, this.watermark) - start);
    for (const [from, to] of this.#endByStart)
      count += Math.max(0, Math.min(to, end) - Math.max(from, start));
    return count;
  }

  /**
   * Marks `start` up to but excluding `end` as terminal. A range that is terminal already means that a message was
   * consumed twice, which throws an `InvariantViolation`.
   */
  add(start: Seq, end: Seq): void {
    if (start >= end || start < this.watermark)
      throw new InvariantViolation(`sequence numbers ${start} to ${end} are terminal already, or none`);
    let from = start;
    let to = end;
    const before = this.#startByEnd.get(start);
    if (before !== undefined) {
      this.#removeRange(before, start);
      from = before;
    }
    const after = this.#endByStart.get(end);
    if (after !== undefined) {
      this.#removeRange(end, after);
      to = after;
    }
    if (from === this.watermark) {
      this.watermark = to;
      return;
    }
    this.#endByStart.set(from, to);
    this.#startByEnd.set(to, from);
    this.#countAboveWatermark += to - from;
  }

  /** Numbers from `start` up to but excluding `end` that are not terminal; undefined if there are more than `countMax`. */
  liveBetween(start: Seq, end: Seq, countMax: number): Seq[] | undefined {
    const live: Seq[] = [];
    let from = Math.max(start, this.watermark);
    for (const [terminal, to] of [...this.ranges(), [end, end] as const]) {
      for (; from < Math.min(terminal, end); from += 1) {
        if (live.length === countMax) return undefined;
        live.push(from);
      }
      from = Math.max(from, to);
    }
    return live;
  }

  #removeRange(start: Seq, end: Seq): void {
    this.#endByStart.delete(start);
    this.#startByEnd.delete(end);
    this.#countAboveWatermark -= end - start;
  }

  /** The ranges above the watermark, in order. O(n log n): for recovery and bulk reads, not for every commit. */
  ranges(): SeqRange[] {
    return [...this.#endByStart].sort((a, b) => a[0] - b[0]);
  }
}
