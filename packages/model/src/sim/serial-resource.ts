/**
 * A resource that serves one after the other, first come first served. With nothing that can overtake, the end of a
 * service is known when it is asked for, so that the resource needs no queue and no event of its own.
 */
export class SerialResource {
  #freeAt = 0;
  #busyUs = 0;

  /** When a service of this length, asked for now, ends. */
  reserve(now: number, us: number): number {
    this.#freeAt = Math.max(now, this.#freeAt) + us;
    this.#busyUs += us;
    return this.#freeAt;
  }

  /** Service asked for since the last clearing, which may not have begun yet. */
  get busyUs(): number {
    return this.#busyUs;
  }

  clear(): void {
    this.#busyUs = 0;
  }
}
