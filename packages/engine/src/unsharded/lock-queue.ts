/** The holder of a lock and its waiters, first come first served. The holder is recalled as soon as someone waits. */
export interface LockClient {
  grant(): void;
  /** Someone waits: release the lock soon. */
  recall(): void;
}

export class LockQueue {
  #holder: LockClient | undefined;
  readonly #waiters: LockClient[] = [];

  acquire(client: LockClient): void {
    if (this.#holder === undefined) {
      this.#holder = client;
      client.grant();
      return;
    }
    this.#waiters.push(client);
    if (this.#waiters.length === 1) this.#holder.recall();
  }

  release(client: LockClient): void {
    if (this.#holder !== client) return;
    this.#holder = this.#waiters.shift();
    this.#holder?.grant();
    if (this.#waiters.length > 0) this.#holder?.recall();
  }

  /** The client disconnected: it no longer holds or waits. */
  remove(client: LockClient): void {
    const at = this.#waiters.indexOf(client);
    if (at >= 0) this.#waiters.splice(at, 1);
    this.release(client);
  }
}
