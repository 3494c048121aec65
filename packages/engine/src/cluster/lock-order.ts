/** Who has a lock and who waits for it, first come first served. The holder is asked for it as soon as someone waits. */
export interface LockClient {
  grant(): void;
  /** Wanted back: release it soon. */
  recall(): void;
}

export class LockOrder {
  #holder: LockClient | undefined;
  readonly #waiting: LockClient[] = [];

  ask(client: LockClient): void {
    if (this.#holder === undefined) {
      this.#holder = client;
      client.grant();
      return;
    }
    this.#waiting.push(client);
    if (this.#waiting.length === 1) this.#holder.recall();
  }

  release(client: LockClient): void {
    if (this.#holder !== client) return;
    this.#holder = this.#waiting.shift();
    this.#holder?.grant();
    if (this.#waiting.length > 0) this.#holder?.recall();
  }

  /** The client is gone: it neither holds nor waits. */
  leave(client: LockClient): void {
    const at = this.#waiting.indexOf(client);
    if (at >= 0) this.#waiting.splice(at, 1);
    this.release(client);
  }
}
