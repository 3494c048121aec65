/**
 * Places that several parties compete for, such as waiting calls: no party can take them all. A party gets another place only
 * while it has at most as many as are free, times the weight of its kind. With weight 1 a single greedy party gets half of all
 * places, and two get a third each; with weight 3 a single one gets three quarters. Some places always remain for others. Unlike
 * a fixed share this gives a single party much, and needs no list of parties. (The rule of dynamic thresholds: Choudhury and
 * Hahne, IEEE/ACM Transactions on Networking 6(2), 1998; the weight is their α.)
 */

/** A queue gets at most half of the places, a client three quarters, because many clients of many queues may share one address. */
export const shareWeights = { queue: 1, client: 3 } as const;

/** Which share is used up: that of one of the parties, or all places. */
export type FullShare<Kind extends string> = Kind | 'server';

export class FairShares<Kind extends string> {
  readonly max: number;
  readonly #weights: Readonly<Record<Kind, number>>;
  #used = 0;
  readonly #held = new Map<string, number>();

  /** `max`: places, or another amount such as bytes. */
  constructor(max: number, weights: Readonly<Record<Kind, number>>) {
    this.max = max;
    this.#weights = weights;
  }

  get used(): number {
    return this.#used;
  }

  /**
   * Takes `amount` for a holder that counts for several parties, such as its queue and its client. Returns a function that
   * gives it back, and does nothing when it is called again; or the party that has its share already.
   */
  take(parties: Readonly<Record<Kind, string>>, amount = 1): (() => void) | FullShare<Kind> {
    const free = this.max - this.#used;
    if (amount > free) return 'server';
    const keys: string[] = [];
    for (const [kind, name] of Object.entries(parties) as [Kind, string][]) {
      const key = `${kind} ${name}`;
      if ((this.#held.get(key) ?? 0) + amount > this.#weights[kind] * free) return kind;
      keys.push(key);
    }
    this.#add(keys, amount);
    let taken = true;
    return () => {
      if (taken) this.#add(keys, -amount);
      taken = false;
    };
  }

  #add(keys: readonly string[], amount: number): void {
    this.#used += amount;
    for (const key of keys) {
      const held = (this.#held.get(key) ?? 0) + amount;
      if (held === 0) this.#held.delete(key);
      else this.#held.set(key, held);
    }
  }
}
