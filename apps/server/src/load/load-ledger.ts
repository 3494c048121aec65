/**
 * What became of each message of a load: a byte of marks for each, by enqueuer and number. Pure; counts are kept as marks
 * come, so that reading them costs nothing.
 */

export interface LoadCounts {
  acknowledged: number;
  consumed: number;
  /** Enqueued by a commit whose outcome could not be learnt: it may be there or not. */
  unknown: number;
  /** Handed out again after its consumption was acknowledged. */
  doubled: number;
  /** Acknowledged, and not known to be consumed. */
  waiting: number;
}

export interface LoadMessage {
  enqueuer: number;
  no: number;
}

const acknowledged = 1;
const unknown = 2;
const consumed = 4;
/** The commit that should consume it had an unknown outcome. */
const maybeConsumed = 8;

export class LoadLedger {
  readonly #marks: Uint8Array[];
  readonly #counts: LoadCounts = { acknowledged: 0, consumed: 0, unknown: 0, doubled: 0, waiting: 0 };

  constructor(enqueuers: number) {
    this.#marks = Array.from({ length: enqueuers }, () => new Uint8Array(1_024));
  }

  get counts(): Readonly<LoadCounts> {
    return this.#counts;
  }

  acknowledge(message: LoadMessage): void {
    const before = this.#mark(message, acknowledged);
    this.#counts.acknowledged += 1;
    if ((before & (consumed | maybeConsumed)) === 0) this.#counts.waiting += 1;
  }

  doNotKnow(message: LoadMessage): void {
    this.#mark(message, unknown);
    this.#counts.unknown += 1;
  }

  /** A message was handed out, whatever comes of it: after its consumption that must not be. */
  handOut({ enqueuer, no }: LoadMessage): void {
    if (((this.#marks[enqueuer]?.[no] ?? 0) & consumed) !== 0) this.#counts.doubled += 1;
  }

  /** Its consumption was acknowledged; `isCertain` is false if the outcome of that commit could not be learnt. */
  consume(message: LoadMessage, isCertain: boolean): void {
    const before = this.#mark(message, isCertain ? consumed : maybeConsumed);
    if (isCertain && (before & consumed) === 0) this.#counts.consumed += 1;
    if ((before & acknowledged) !== 0 && (before & (consumed | maybeConsumed)) === 0)
      this.#counts.waiting -= 1;
  }

  /** Sets the mark; returns the marks of before. */
  #mark({ enqueuer, no }: LoadMessage, mark: number): number {
    let marks = this.#marks[enqueuer]!;
    if (no >= marks.length) {
      const grown = new Uint8Array(Math.max(marks.length * 2, no + 1));
      grown.set(marks);
      this.#marks[enqueuer] = grown;
      marks = grown;
    }
    const before = marks[no]!;
    marks[no] = before | mark;
    return before;
  }
}
