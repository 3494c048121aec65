/** The enqueuers of a trial: each sends numbered messages, one a call, and records those that were accepted. */

import type { Ledger } from '../../integrity/ledger.ts';
import type { PayloadCodec } from '../../integrity/payload.ts';
import type { Producer } from '../../systems/driver/driver.ts';
import { yieldToEventLoop } from '../../systems/driver/yield-to-event-loop.ts';

export class Enqueuers {
  readonly #producers: readonly Producer[];
  readonly #codec: PayloadCodec;
  readonly #ledger: Ledger;
  /** Messages that each has enqueued. */
  readonly #accepted: number[];

  constructor(options: { producers: readonly Producer[]; codec: PayloadCodec; ledger: Ledger }) {
    this.#producers = options.producers;
    this.#codec = options.codec;
    this.#ledger = options.ledger;
    this.#accepted = options.producers.map(() => 0);
  }

  /** All of them enqueue their share; resolves when all messages are acknowledged. */
  async enqueueAll(messages: number): Promise<void> {
    const threads = this.#producers.length;
    const shareOf = (enqueuer: number) =>
      Math.floor(messages / threads) + (enqueuer < messages % threads ? 1 : 0);
    await Promise.all(
      this.#producers.map(async (_, enqueuer) => {
        for (let left = shareOf(enqueuer); left > 0; left -= 1) {
          await this.enqueueOne(enqueuer);
          await yieldToEventLoop();
        }
      }),
    );
  }

  /** Rejects with `EnqueueRefused` if the system refuses the message, which then counts as never sent. */
  async enqueueOne(enqueuer: number): Promise<void> {
    const sequence = this.#accepted[enqueuer]!;
    const payload = this.#codec.make({ enqueuer, sequence, sentAtMs: performance.now() });
    await this.#producers[enqueuer]!.send([payload]);
    this.#accepted[enqueuer] = sequence + 1;
    this.#ledger.recordCommitted(enqueuer, sequence + 1);
  }
}
