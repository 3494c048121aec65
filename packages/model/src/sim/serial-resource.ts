/**
 * A resource that serves one request at a time, first come first served. Nothing can overtake, so the end of a service is known
 * when it is requested, and the resource needs no queue and no events.
 */
export class SerialResource {
  #freeAt = 0;
  /** Service requested since the last clearing, plus the rest of earlier service at that time. */
  #reservedUs = 0;

  /** Requests a service of this length now, and returns when it ends. */
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
