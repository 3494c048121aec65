/** The enqueuers of a job: in a closed loop, in an open loop, or filling a backlog. */
import type { SessionTime, WaitRecorder } from '@shardlab/engine';
import type { PayloadCodec } from '../../integrity/payload.ts';
import type { Clock } from '../../meters/clock.ts';
import { createHistogram } from '../../meters/latency.ts';
import { waitingForWork } from '../../meters/load-waits.ts';
import { eventOfCalls, type Producer } from '../../systems/driver/driver.ts';
import { isTurnDue, yieldToEventLoop } from '../../systems/driver/yield-to-event-loop.ts';
import { BacklogGate } from '../../trial/backlog-gate.ts';
import type { LoadJob } from './load-job.ts';
import { PacedLoad } from './paced-load.ts';
import type { Window } from './window.ts';

/** A backlog is filled by few enqueuers with large transactions: quick for every system. */
const fillers = 4;
const fillOperations = 1_000;

export class Load {
  readonly gate: BacklogGate;
  /** Messages of committed transactions. */
  committed = 0;
  /** Whether enqueuers ever had to wait for dequeuers. */
  wasFull = false;
  /** The same by enqueuer, whose messages are numbered from 0. */
  readonly committedBy = new Map<number, number>();
  readonly #job: LoadJob;
  readonly #clock: Clock;
  readonly #codec: PayloadCodec;
  readonly #producers: readonly Producer[];
  /** By index of the producer. */
  readonly #times: readonly SessionTime[];
  /** Committed messages by index of the producer. */
  readonly #sequences: number[];
  readonly #paced: PacedLoad | null;
  #stopped = false;

  constructor(options: {
    job: LoadJob;
    clock: Clock;
    codec: PayloadCodec;
    producers: readonly Producer[];
    window: Window;
    book: WaitRecorder;
  }) {
    this.#job = options.job;
    this.#clock = options.clock;
    this.#codec = options.codec;
    this.#producers = options.producers;
    this.#times = options.producers.map(({ time }) => time ?? options.book.openSession());
    this.#sequences = options.producers.map(() => 0);
    this.gate = new BacklogGate(options.job.backlogMax);
    this.gate.setShare(options.job.standing);
    const { transactionsPerSec, client } = options.job;
    this.#paced =
      transactionsPerSec === null
        ? null
        : new PacedLoad({
            transactionsPerSec,
            clock: options.clock,
            producers: options.producers,
            send: (_, index, sentAtMs) => this.#pacedTransaction(index, client.operations, sentAtMs),
            isMeasured: (sentAtMs) => options.window.covers(sentAtMs),
          });
  }

  async waitUntilReady(): Promise<void> {
    await this.#paced?.waitUntilReady();
  }

  /** Enqueues until `stop`; resolves when every transaction has been acknowledged. An open loop counts from `startAtMs`. */
  async run(startAtMs: number): Promise<void> {
    for (const time of this.#times) {
      time.resume();
      time.suspend(undefined, waitingForWork);
    }
    if (this.#paced === null) await Promise.all(this.#producers.map((_, index) => this.#closedLoop(index)));
    else await this.#paced.run(startAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.gate.disable();
    this.#paced?.stop();
  }

  get scheduleLag() {
    return this.#paced?.scheduleLag ?? createHistogram();
  }

  /** Enqueues in bulk until the backlog is reached or the time is over. */
  async fill({ messages, withinMs }: NonNullable<LoadJob['fill']>): Promise<void> {
    const until = this.#clock() + withinMs;
    let missing = messages - this.committed;
    const fillWith = async (index: number) => {
      const time = this.#times[index]!;
      while (missing > 0 && this.#clock() < until) {
        const count = Math.min(fillOperations, missing);
        missing -= count;
        time.resume();
        await time.suspend(this.#send(index, count, this.#clock()), eventOfCalls(this.#producers[index]!));
        time.resume();
        this.#commit(index, count);
        await time.yield(yieldToEventLoop());
      }
      time.begin(waitingForWork);
    };
    await Promise.all(this.#producers.slice(0, fillers).map((_, index) => fillWith(index)));
  }

  async #closedLoop(index: number): Promise<void> {
    const time = this.#times[index]!;
    const { operations } = this.#job.client;
    const event = eventOfCalls(this.#producers[index]!);
    time.resume();
    while (!this.#stopped) {
      if (this.gate.full) {
        this.wasFull = true;
        await this.gate.wait(time);
        time.resume();
      } else {
        await time.suspend(this.#send(index, operations, this.#clock()), event);
        time.resume();
        this.#commit(index, operations);
      }
      if (isTurnDue()) {
        await time.yield(yieldToEventLoop());
        time.resume();
      }
    }
    time.suspend(undefined, waitingForWork);
  }

  async #pacedTransaction(index: number, operations: number, sentAtMs: number): Promise<void> {
    const time = this.#times[index]!;
    time.resume();
    await time.suspend(this.#send(index, operations, sentAtMs), eventOfCalls(this.#producers[index]!));
    time.resume();
    this.#commit(index, operations);
    time.suspend(undefined, waitingForWork);
  }

  #send(index: number, operations: number, sentAtMs: number): Promise<void> {
    const enqueuer = this.#job.enqueuers[index]!;
    const sequence = this.#sequences[index]!;
    const payloads: Buffer[] = [];
    for (let each = 0; each < operations; each += 1) {
      payloads.push(this.#codec.make({ enqueuer, sequence: sequence + each, sentAtMs }));
    }
    return this.#producers[index]!.send(payloads);
  }

  /** Records the transaction that was sent and acknowledged. */
  #commit(index: number, operations: number): void {
    const committed = this.#sequences[index]! + operations;
    this.#sequences[index] = committed;
    this.committedBy.set(this.#job.enqueuers[index]!, committed);
    this.committed += operations;
    this.gate.enqueued(operations);
  }
}
