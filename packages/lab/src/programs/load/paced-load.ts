/**
 * Open loop: transactions start at their intended times, whether or not earlier ones have finished. Each message carries its
 * intended time, so a stall counts against every message that should have been sent during it.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../meters/clock.ts';
import { createHistogram, recordMs } from '../../meters/latency.ts';
import type { Producer } from '../../systems/driver/driver.ts';

export interface PacerOptions {
  intervalMs: number;
  /** Not 0: the thread ends. */
  stop: Int32Array;
}

/** Sends one transaction with the time at which it was to begin. */
export type SendTransaction = (producer: Producer, index: number, sentAtMs: number) => Promise<void>;

export class PacedLoad {
  /** Time from the intended start of a transaction to its start. */
  readonly scheduleLag = createHistogram();
  readonly #options: PacerOptions;
  readonly #clock: Clock;
  readonly #producers: readonly Producer[];
  readonly #send: SendTransaction;
  readonly #isMeasured: (sentAtMs: number) => boolean;
  /** Started ahead of time: a thread takes as long to start as many transactions. */
  readonly #pacer: Worker;
  readonly #ready: Promise<unknown>;
  readonly #free: number[];
  #startAtMs = 0;
  #due = 0;
  #issued = 0;
  #stopped = false;
  #inFlight = 0;
  #failed: ((error: unknown) => void) | undefined;
  #idle: (() => void) | undefined;

  constructor(options: {
    transactionsPerSec: number;
    clock: Clock;
    producers: readonly Producer[];
    send: SendTransaction;
    /** Whether a transaction of this time is measured. */
    isMeasured: (sentAtMs: number) => boolean;
  }) {
    this.#options = {
      intervalMs: 1_000 / options.transactionsPerSec,
      stop: new Int32Array(new SharedArrayBuffer(4)),
    };
    this.#clock = options.clock;
    this.#producers = options.producers;
    this.#send = options.send;
    this.#isMeasured = options.isMeasured;
    this.#free = options.producers.map((_, index) => index);
    // `.ts` in the repository, `.js` where it is compiled.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    this.#pacer = new Worker(new URL(`./pacer-thread${extension}`, import.meta.url), {
      workerData: this.#options,
      name: 'pacer',
    });
    this.#ready = once(this.#pacer, 'message');
  }

  /** Resolves when transactions can begin on time. */
  async waitUntilReady(): Promise<void> {
    await this.#ready;
  }

  /** Begins transactions until `stop`; resolves when all of them have ended, rejects with the error of the first that fails. */
  async run(startAtMs: number): Promise<void> {
    const pacer = this.#pacer;
    const ended = new Promise<void>((resolve) => pacer.once('exit', () => resolve()));
    this.#startAtMs = startAtMs;
    pacer.postMessage(startAtMs);
    await new Promise<void>((resolve, reject) => {
      this.#idle = resolve;
      this.#failed = reject;
      pacer.on('message', (due: number) => {
        this.#due = due;
        this.#issue();
      });
      pacer.once('error', reject);
    });
    await ended;
  }

  stop(): void {
    this.#stopped = true;
    Atomics.store(this.#options.stop, 0, 1);
    Atomics.notify(this.#options.stop, 0);
    if (this.#inFlight === 0) this.#idle?.();
  }

  #issue(): void {
    while (!this.#stopped && this.#issued < this.#due && this.#free.length > 0) {
      const sentAtMs = this.#startAtMs + this.#issued * this.#options.intervalMs;
      this.#issued += 1;
      if (this.#isMeasured(sentAtMs)) recordMs(this.scheduleLag, this.#clock() - sentAtMs);
      const index = this.#free.pop()!;
      this.#inFlight += 1;
      this.#send(this.#producers[index]!, index, sentAtMs).then(
        () => {
          this.#free.push(index);
          this.#inFlight -= 1;
          if (this.#stopped && this.#inFlight === 0) this.#idle?.();
          else this.#issue();
        },
        (error: unknown) => {
          this.stop();
          this.#failed?.(error);
        },
      );
    }
  }
}
