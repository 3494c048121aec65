/**
 * Holds enqueuers while too many messages wait, so that a dequeuer that is slower meets a bounded backlog. Waiting
 * ends by events only: a dequeuer's commit, news of the other instances, or the end of the phase.
 */
export class BacklogGate {
  readonly #max: number;
  /** This instance's share of the backlog when last told, and what its own sessions changed since. */
  #share = 0;
  #change = 0;
  #open = true;
  #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get full(): boolean {
    return this.#open && this.#share + this.#change >= this.#max;
  }

  enqueued(messages: number): void {
    this.#change += messages;
  }

  consumed(messages: number): void {
    this.#change -= messages;
    this.#wakeIfRoom();
  }

  /**
   * The backlog of a queue that all instances share, divided by their number. Own counts alone would drift apart,
   * since a dequeuer here consumes what another instance enqueued.
   */
  setShare(messages: number): void {
    this.#share = messages;
    this.#change = 0;
    this.#wakeIfRoom();
  }

  /** Resolves when there is room again. */
  wait(): Promise<void> {
    return new Promise((wake) => this.#waiting.push(wake));
  }

  /** From now on nobody waits. */
  release(): void {
    this.#open = false;
    this.#wakeIfRoom();
  }

  #wakeIfRoom(): void {
    if (this.#waiting.length === 0 || this.full) return;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
