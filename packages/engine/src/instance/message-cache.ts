/**
 * The message cache of an instance: one bound in bytes over all its shards. A shard keeps a window of consecutive
 * records here, from what is handed out next towards its newest message; what does not fit is read back from its
 * partitions when its turn comes, so the cache never evicts what is needed soonest.
 */
export class MessageCache {
  /** May be changed at any time: past a smaller one, what is there leaves as it is consumed, and nothing is added. */
  bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get full(): boolean {
    return this.#bytes >= this.bytesMax;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
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
