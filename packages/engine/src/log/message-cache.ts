/**
 * The message cache of an instance: one bound in bytes over all its queues. Each queue may have a reserved minimum and a
 * maximum of its own. A log caches a window of consecutive records, from the one that is delivered next towards its newest;
 * messages that do not fit are read back from their partitions later, so the cache never evicts what is needed soonest.
 *
 * Reserved bytes that a queue does not fill are not given to others. A queue that is opened when others have filled the
 * cache gets its minimum as they drain, since the bound over all queues takes precedence.
 */
export class MessageCache {
  /** May be changed at any time. Past a smaller bound nothing is added, and cached messages leave as they are consumed. */
  bytesMax: number;
  #bytes = 0;
  /** Reserved bytes that queues do not fill. */
  #reservedBytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the share of a queue. */
  openShare({
    bytesMin = 0,
    bytesMax = null,
  }: {
    bytesMin?: number;
    bytesMax?: number | null;
  } = {}): CacheShare {
    this.#reservedBytes += bytesMin;
    return new CacheShare({
      bytesMin,
      bytesMax,
      hasCapacity: (withinMin) => this.#bytes + (withinMin ? 0 : this.#reservedBytes) < this.bytesMax,
      onChange: (bytes, reservedBytes) => {
        this.#bytes += bytes;
        this.#reservedBytes += reservedBytes;
      },
    });
  }
}

interface CacheShareOptions {
  bytesMin: number;
  bytesMax: number | null;
  hasCapacity(withinMin: boolean): boolean;
  /** Called with the change of its bytes, and of the reserved bytes that it does not fill. */
  onChange(bytes: number, reservedBytes: number): void;
}

/** The part of the cache that one queue uses. */
export class CacheShare {
  readonly #options: CacheShareOptions;
  #bytes = 0;
  /** Its queue was dropped: nothing is reserved for it. */
  #closed = false;

  constructor(options: CacheShareOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    const { bytesMin, bytesMax, hasCapacity } = this.#options;
    if (bytesMax !== null && this.#bytes >= bytesMax) return true;
    return !hasCapacity(this.#bytes < bytesMin);
  }

  add(bytes: number): void {
    this.#change(bytes);
  }

  remove(bytes: number): void {
    this.#change(-bytes);
  }

  #change(bytes: number): void {
    const before = this.#reservedBytes;
    this.#bytes += bytes;
    this.#options.onChange(bytes, this.#reservedBytes - before);
  }

  get #reservedBytes(): number {
    return this.#closed ? 0 : Math.max(0, this.#options.bytesMin - this.#bytes);
  }

  close(): void {
    const before = this.#reservedBytes;
    this.#closed = true;
    this.#options.onChange(0, -before);
  }
}

/** Records of consecutive messages in memory. */
export interface CachedRun {
  firstSeq: number;
  count: number;
  buffer: Buffer;
  start: number;
  end: number;
  /** It was read back from its partition, instead of staying in the cache since its commit. */
  fromDisk: boolean;
  /** Uses that are not released yet; at 0 its bytes leave the cache: see `MessageLog.retainCached`. */
  retainCount: number;
}
