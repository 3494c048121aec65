/**
 * The fate of each message of a load: one byte of flags per message, by enqueuer and sequence number. Pure. Counts are
 * updated with every flag, so reading them costs nothing.
 */

export interface LoadCounts {
  acknowledged: number;
  consumed: number;
  /** Messages of commits whose outcome could not be determined: they may or may not be in the queue. */
  outcomeUnknown: number;
  /** Messages delivered again after their consumption was acknowledged. */
  duplicated: number;
  /** Acknowledged messages that are not known to be consumed. */
  waiting: number;
}

export interface LoadMessage {
  enqueuer: number;
  sequence: number;
}

const acknowledged = 1;
const unknown = 2;
const consumed = 4;
/** The commit that should have consumed the message had an unknown outcome. */
const maybeConsumed = 8;

export class LoadLedger {
  readonly #marks: Uint8Array[];
  readonly #counts: LoadCounts = {
    acknowledged: 0,
    consumed: 0,
    outcomeUnknown: 0,
    duplicated: 0,
    waiting: 0,
  };

  constructor(enqueuers: number) {
    this.#marks = Array.from({ length: enqueuers }, () => new Uint8Array(1_024));
  }

  get counts(): Readonly<LoadCounts> {
    return this.#counts;
  }

  recordAcknowledged(message: LoadMessage): void {
    const before = this.#mark(message, acknowledged);
    this.#counts.acknowledged += 1;
    if ((before & (consumed | maybeConsumed)) === 0) this.#counts.waiting += 1;
  }

  recordUnknown(message: LoadMessage): void {
    this.#mark(message, unknown);
    this.#counts.outcomeUnknown += 1;
  }

  /** Records a delivery, whatever its outcome. A delivery after an acknowledged consumption is a duplicate. */
  recordDelivery({ enqueuer, sequence }: LoadMessage): void {
    if (((this.#marks[enqueuer]?.[sequence] ?? 0) & consumed) !== 0) this.#counts.duplicated += 1;
  }

  /** Records a consumption; `isCertain` is false if the outcome of its commit could not be determined. */
  recordConsumed(message: LoadMessage, isCertain: boolean): void {
    const before = this.#mark(message, isCertain ? consumed : maybeConsumed);
    if (isCertain && (before & consumed) === 0) this.#counts.consumed += 1;
    if ((before & acknowledged) !== 0 && (before & (consumed | maybeConsumed)) === 0)
      this.#counts.waiting -= 1;
  }

  /** Sets a flag of the message and returns its previous flags. */
  #mark({ enqueuer, sequence }: LoadMessage, mark: number): number {
    let marks = this.#marks[enqueuer]!;
    if (sequence >= marks.length) {
      const grown = new Uint8Array(Math.max(marks.length * 2, sequence + 1));
      grown.set(marks);
      this.#marks[enqueuer] = grown;
      marks = grown;
    }
    const before = marks[sequence]!;
    marks[sequence] = before | mark;
    return before;
  }
}
