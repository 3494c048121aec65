/**
 * A resource that serves one after the other, first come first served. With nothing that can overtake, the end of a
 * service is known when it is asked for, so that the resource needs no queue and no event of its own.
 */
export class SerialResource {
  #freeAt = 0;
  /** Service asked for since the last clearing, and what was left of earlier service then. */
  #reservedUs = 0;

  /** When a service of this length, asked for now, ends. */
  reserve(now: number, us: number): number {
    this.#freeAt = Math.max(now, this.#freeAt) + us;
    this.#reservedUs += us;
    return this.#freeAt;
  }

  /** How long it has served since the last clearing. */
  busyUs(now: number): number {
    return this.#reservedUs - this.#remainingUs(now);
  }

  #remainingUs(now: number): number {
    return Math.max(0, this.#freeAt - now);
  }

  clear(now: number): void {
    this.#reservedUs = this.#remainingUs(now);
  }
}
