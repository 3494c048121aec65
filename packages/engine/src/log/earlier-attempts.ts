import type { Seq } from '../model/ids.ts';

/** How often messages of one cursor were delivered before the instance opened, or on other instances, by sequence number. */
export class EarlierAttempts {
  readonly #attempts = new Map<Seq, number>();
  #deliveredEndSeq: Seq = 0;

  /** Messages below it may have been delivered before the instance opened, also those without recorded attempts. */
  get deliveredEndSeq(): Seq {
    return this.#deliveredEndSeq;
  }

  recoverDelivered(endSeq: Seq): void {
    this.#deliveredEndSeq = endSeq;
  }

  /** 0 if the message was not delivered earlier. */
  of(seq: Seq): number {
    return Math.max(this.#attempts.get(seq) ?? 0, seq < this.#deliveredEndSeq ? 1 : 0);
  }

  set(seq: Seq, attempts: number): void {
    this.#attempts.set(seq, attempts);
  }

  /** Removes and returns the earlier attempts of a message that is being delivered; 0 if there were none. */
  take(seq: Seq): number {
    const attempts = this.of(seq);
    this.#attempts.delete(seq);
    return attempts;
  }

  /** How many messages from `seq` on share a delivery count, up to `max`. One delivered earlier goes alone. */
  countAlike(seq: Seq, max: number): number {
    const countMax = seq < this.#deliveredEndSeq ? Math.min(max, this.#deliveredEndSeq - seq) : max;
    if (this.#attempts.size === 0) return countMax;
    if (this.#attempts.has(seq)) return Math.min(countMax, 1);
    for (let i = 1; i < countMax; i += 1) if (this.#attempts.has(seq + i)) return i;
    return countMax;
  }
}
