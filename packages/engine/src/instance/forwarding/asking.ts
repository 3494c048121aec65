/** One instance asks the others for messages of a queue that consumers wait for here. */
import { nextBatchSize } from '../../core/forwarding.ts';
import { limits } from '../../core/limits.ts';
import type { Peer } from './interconnect.ts';

const sizes = {
  min: limits.forwardBatchMessagesMin,
  max: limits.forwardBatchMessagesMax,
  aimMs: limits.forwardBatchAimMs,
};

export interface AskingOptions {
  queueId: number;
  peers(): readonly number[];
  peer(instance: number): Peer | undefined;
  run(work: () => Promise<void>): Promise<void>;
  /** A pause after a failure. */
  pause(): Promise<void>;
  /** A question was answered: it may be asked again. */
  onAnswer(): void;
}

export class Asking {
  readonly #options: AskingOptions;
  /** The peers that were asked, and whether something is still wanted of them. */
  readonly #asked = new Map<number, { withdrawn: boolean }>();
  /** How many messages to ask for, and when so many last came. */
  #size: number = sizes.min;
  #filledAt: number | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  /** So few messages are here, and consumers too: asks each peer that is not asked yet, unless they are enough. */
  ask(ready: number): void {
    if (ready > this.#size / 2) return;
    if (this.#filledAt !== undefined) {
      this.#size = nextBatchSize(this.#size, performance.now() - this.#filledAt, sizes);
      this.#filledAt = undefined;
    }
    const { peers, run } = this.#options;
    for (const peer of peers()) if (!this.#asked.has(peer)) void run(() => this.#ask(peer));
  }

  async #ask(instance: number): Promise<void> {
    const { queueId, peer, pause, onAnswer } = this.#options;
    this.#asked.set(instance, { withdrawn: false });
    try {
      await peer(instance)?.want(queueId, this.#size);
    } catch {
      await pause();
    } finally {
      this.#asked.delete(instance);
    }
    onAnswer();
  }

  /** No consumer is here any more. */
  withdraw(): void {
    this.#size = sizes.min;
    for (const [instance, asked] of this.#asked) {
      if (!asked.withdrawn) this.#options.peer(instance)?.unwant(this.#options.queueId);
      asked.withdrawn = true;
    }
  }

  /** A batch came, asked for or not. */
  arrived(count: number): void {
    if (count >= this.#size) this.#filledAt = performance.now();
  }
}
