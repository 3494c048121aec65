/**
 * What of one shard is terminal (consumed, or a gap that no commit filled): a watermark below which all is terminal,
 * and merged ranges above it. Consumers that work side by side finish out of order by a little, so few ranges exist at
 * a time; adding one is O(1) whatever their number.
 */
export type SeqRange = readonly [start: number, end: number];

export class Consumption {
  /** Everything below is terminal. */
  watermark: number;
  /** Terminal messages above the watermark. */
  #above = 0;
  readonly #endByStart = new Map<number, number>();
  readonly #startByEnd = new Map<number, number>();

  constructor(watermark: number) {
    this.watermark = watermark;
  }

  /** Terminal sequence numbers from `first` on; `first` must not be above the watermark. */
  countFrom(first: number): number {
    return this.watermark - first + this.#above;
  }

  /** Terminal ones among `start` up to but excluding `end`. O(ranges above the watermark). */
  countBetween(start: number, end: number): number {
    let count = Math.max(0, Math.min(end, this.watermark) - start);
    for (const [from, to] of this.#endByStart)
      count += Math.max(0, Math.min(to, end) - Math.max(from, start));
    return count;
  }

  /**
   * Marks `start` up to but excluding `end`. A range must not overlap what is terminal already, as it would if a
   * message were finished twice: that is a bug, and it throws.
   */
  add(start: number, end: number): void {
    if (start >= end || start < this.watermark)
      throw new RangeError(`terminal already, or empty: ${start} to ${end}`);
    let from = start;
    let to = end;
    const before = this.#startByEnd.get(start);
    if (before !== undefined) {
      this.#forget(before, start);
      from = before;
    }
    const after = this.#endByStart.get(end);
    if (after !== undefined) {
      this.#forget(end, after);
      to = after;
    }
    if (from === this.watermark) {
      this.watermark = to;
      return;
    }
    this.#endByStart.set(from, to);
    this.#startByEnd.set(to, from);
    this.#above += to - from;
  }

  /** Numbers from `start` up to but excluding `end` that are not terminal; undefined if they are more than `most`. */
  liveBetween(start: number, end: number, most: number): number[] | undefined {
    const live: number[] = [];
    let from = Math.max(start, this.watermark);
    for (const [terminal, to] of [...this.ranges(), [end, end] as const]) {
      for (; from < Math.min(terminal, end); from += 1) {
        if (live.length === most) return undefined;
        live.push(from);
      }
      from = Math.max(from, to);
    }
    return live;
  }

  #forget(start: number, end: number): void {
    this.#endByStart.delete(start);
    this.#startByEnd.delete(end);
    this.#above -= end - start;
  }

  /** The ranges above the watermark in order. O(n log n): for recovery and bulk reads, not for the hot path. */
  ranges(): SeqRange[] {
    return [...this.#endByStart].sort((a, b) => a[0] - b[0]);
  }
}

/** Sorted, merged ranges of a list of distinct sequence numbers; the list is sorted in place. */
export function toRanges(seqs: number[]): SeqRange[] {
  seqs.sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const seq of seqs) {
    const last = ranges.at(-1);
    if (last !== undefined && seq === last[1]) last[1] = seq + 1;
    else ranges.push([seq, seq + 1]);
  }
  return ranges;
}

/** Sorts ranges and joins those that touch or overlap. */
export function mergeRanges(ranges: readonly SeqRange[]): SeqRange[] {
  const merged: [number, number][] = [];
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

/** Ranges as varint pairs (distance from the end of the one before, length), counted from `base`. */
export function encodeRanges(ranges: readonly SeqRange[], base: number): number[] {
  const bytes: number[] = [];
  let from = base;
  for (const [start, end] of ranges) {
    pushVarint(bytes, start - from);
    pushVarint(bytes, end - start);
    from = end;
  }
  return bytes;
}

export function decodeRanges(bytes: Uint8Array, base: number): SeqRange[] {
  const ranges: SeqRange[] = [];
  let at = 0;
  const next = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError('ranges end in the middle of a number');
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
