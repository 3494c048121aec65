/** The enqueuers of a trial: each sends numbered messages, one a call, and records those that were accepted. */
import type { SessionTime, WaitRecorder } from '@shardlab/engine';
import type { Book } from '../../integrity/book.ts';
import type { Ledger } from '../../integrity/ledger.ts';
import type { PayloadCodec } from '../../integrity/payload.ts';
import { waitingForWork } from '../../meters/load-waits.ts';
import { eventOfCalls, type Producer } from '../../systems/driver/driver.ts';
import { isTurnDue, yieldToEventLoop } from '../../systems/driver/yield-to-event-loop.ts';

export class Enqueuers {
  readonly #producers: readonly Producer[];
  readonly #times: readonly SessionTime[];
  readonly #codec: PayloadCodec;
  readonly #ledger: Ledger;
  /** Of a process that is killed. */
  readonly #killBook: Book | null;
  /** Messages that each has enqueued. */
  readonly #accepted: number[];

  constructor(options: {
    producers: readonly Producer[];
    codec: PayloadCodec;
    ledger: Ledger;
    book: WaitRecorder;
    killBook?: Book | null;
  }) {
    this.#producers = options.producers;
    this.#times = options.producers.map(({ time }) => time ?? options.book.openSession());
    for (const time of this.#times) {
      time.resume();
      time.suspend(undefined, waitingForWork);
    }
    this.#codec = options.codec;
    this.#ledger = options.ledger;
    this.#killBook = options.killBook ?? null;
    this.#accepted = options.producers.map(() => 0);
  }

  /** Messages that all of them have enqueued. */
  get count(): number {
    return this.#accepted.reduce((sum, accepted) => sum + accepted, 0);
  }

  /** All of them enqueue their share; resolves when all messages are acknowledged. */
  async enqueueAll(messages: number): Promise<void> {
    const threads = this.#producers.length;
    const shareOf = (enqueuer: number) =>
      Math.floor(messages / threads) + (enqueuer < messages % threads ? 1 : 0);
    await Promise.all(
      this.#producers.map(async (_, enqueuer) => {
        const time = this.#times[enqueuer]!;
        const event = eventOfCalls(this.#producers[enqueuer]!);
        time.resume();
        for (let left = shareOf(enqueuer); left > 0; left -= 1) {
          await time.suspend(this.#send(enqueuer), event);
          time.resume();
          this.#accept(enqueuer);
          if (isTurnDue()) {
            await time.yield(yieldToEventLoop());
            time.resume();
          }
        }
        time.suspend(undefined, waitingForWork);
      }),
    );
  }

  /** Rejects with `EnqueueRefused` if the system refuses the message, which then counts as never sent. */
  async enqueueOne(enqueuer: number): Promise<void> {
    const time = this.#times[enqueuer]!;
    time.resume();
    try {
      await time.suspend(this.#send(enqueuer), eventOfCalls(this.#producers[enqueuer]!));
      this.#accept(enqueuer);
    } finally {
      time.begin(waitingForWork);
    }
  }

  #send(enqueuer: number): Promise<void> {
    const sequence = this.#accepted[enqueuer]!;
    const payload = this.#codec.make({ enqueuer, sequence, sentAtMs: performance.now() });
    this.#killBook?.enqueueing(enqueuer, sequence + 1);
    return this.#producers[enqueuer]!.send([payload]);
  }

  /** Records the message that was sent. */
  #accept(enqueuer: number): void {
    const accepted = this.#accepted[enqueuer]! + 1;
    this.#accepted[enqueuer] = accepted;
    this.#ledger.recordCommitted(enqueuer, accepted);
    this.#killBook?.enqueued(enqueuer, accepted);
  }
}
