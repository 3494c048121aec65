/**
 * The message cache of an instance: one bound in bytes over all its queues, of which each may have a minimum that is kept
 * for it and a maximum of its own. A shard keeps a window of consecutive records here, from what is handed out next
 * towards its newest message; what does not fit is read back from its partitions when its turn comes, so the cache never
 * evicts what is needed soonest.
 *
 * Room that is kept for queues in use, and that they do not fill, is not given to others. A queue that comes into use
 * when others have filled the cache gets its minimum as they drain: the bound over all holds before everything else.
 */
export class MessageCache {
  /** May be changed at any time: past a smaller one, what is there leaves as it is consumed, and nothing is added. */
  bytesMax: number;
  #bytes = 0;
  /** What queues may still take of their minimum. */
  #kept = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The part of one queue that is in use. */
  share({ bytesMin = 0, bytesMax = null }: { bytesMin?: number; bytesMax?: number | null } = {}): CacheShare {
    this.#kept += bytesMin;
    return new CacheShare({
      bytesMin,
      bytesMax,
      hasRoom: (withinMin) => this.#bytes + (withinMin ? 0 : this.#kept) < this.bytesMax,
      onChange: (bytes, kept) => {
        this.#bytes += bytes;
        this.#kept += kept;
      },
    });
  }
}

interface ShareStart {
  bytesMin: number;
  bytesMax: number | null;
  hasRoom(withinMin: boolean): boolean;
  /** By how much its bytes changed, and what it may still take of its minimum. */
  onChange(bytes: number, kept: number): void;
}

/** What one queue has in the cache. */
export class CacheShare {
  readonly #start: ShareStart;
  #bytes = 0;
  /** Its queue was dropped: nothing is kept for it. */
  #closed = false;

  constructor(start: ShareStart) {
    this.#start = start;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get full(): boolean {
    const { bytesMin, bytesMax, hasRoom } = this.#start;
    if (bytesMax !== null && this.#bytes >= bytesMax) return true;
    return !hasRoom(this.#bytes < bytesMin);
  }

  add(bytes: number): void {
    this.#change(bytes);
  }

  remove(bytes: number): void {
    this.#change(-bytes);
  }

  #change(bytes: number): void {
    const before = this.#kept;
    this.#bytes += bytes;
    this.#start.onChange(bytes, this.#kept - before);
  }

  get #kept(): number {
    return this.#closed ? 0 : Math.max(0, this.#start.bytesMin - this.#bytes);
  }

  close(): void {
    const before = this.#kept;
    this.#closed = true;
    this.#start.onChange(0, -before);
  }
}

/** Records of consecutive messages in memory. */
export interface CachedRun {
  firstSeq: number;
  count: number;
  buffer: Buffer;
  start: number;
  end: number;
  /** It did not stay in the cache since its commit, but was read back from its partition. */
  readBack: boolean;
  /** How often it is still to be let go of before its bytes leave the cache: see `Shard.keep`. */
  kept: number;
}
