/** Sessions bound to shards, as in the local engine: at its first enqueue to a queue, to the shard with the fewest sessions. */
export class ShardBindings {
  /** The shard of each session, by queue. */
  readonly #bound = new Map<string, Map<string, number>>();

  shardFor(session: string, queue: string, shards: number): number {
    let ofQueue = this.#bound.get(queue);
    if (ofQueue === undefined) {
      ofQueue = new Map();
      this.#bound.set(queue, ofQueue);
    }
    const known = ofQueue.get(session);
    if (known !== undefined) return known;
    const counts = Array.from({ length: shards }, () => 0);
    for (const shard of ofQueue.values()) counts[shard] = (counts[shard] ?? 0) + 1;
    const shard = counts.indexOf(Math.min(...counts));
    ofQueue.set(session, shard);
    return shard;
  }

  unbind(session: string): void {
    for (const [queue, ofQueue] of this.#bound) {
      ofQueue.delete(session);
      if (ofQueue.size === 0) this.#bound.delete(queue); // it may have been dropped
    }
  }
}
