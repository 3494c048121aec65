/** How often messages of one cursor were delivered before the instance opened, or on other instances, by sequence number. */
export class EarlierAttempts {
  readonly #attempts = new Map<number, number>();

  set(seq: number, attempts: number): void {
    this.#attempts.set(seq, attempts);
  }

  /** Forgets and returns those of a message that is delivered now; 0 if there were none. */
  take(seq: number): number {
    const attempts = this.#attempts.get(seq) ?? 0;
    this.#attempts.delete(seq);
    return attempts;
  }

  /** How many messages from `seq` on share a delivery count, up to `max`. One delivered earlier goes alone. */
  countAlike(seq: number, max: number): number {
    if (this.#attempts.size === 0) return max;
    if (this.#attempts.has(seq)) return Math.min(max, 1);
    for (let i = 1; i < max; i += 1) if (this.#attempts.has(seq + i)) return i;
    return max;
  }
}
