/** The measured window of a job: the work of its process and its server between two readings, and at its middle. */
import { cpuUsOfTrees } from '../../systems/process-cpu.ts';
import type { Clock } from '../../trial/clock.ts';
import { createHistogram } from '../../trial/latency.ts';
import type { LoadWindow } from './load-job.ts';

interface Reading {
  atMs: number;
  enqueued: number;
  consumed: number;
}

export class Window {
  readonly latency = createHistogram();
  readonly #clock: Clock;
  readonly #serverPids: readonly number[];
  readonly #counts: () => { enqueued: number; consumed: number };
  #from: (Reading & { cpuUs: number | null }) | undefined;
  #middle: Reading | undefined;
  #to: (Reading & { cpuUs: number | null }) | undefined;

  constructor(options: {
    clock: Clock;
    serverPids: readonly number[];
    counts: () => { enqueued: number; consumed: number };
  }) {
    this.#clock = options.clock;
    this.#serverPids = options.serverPids;
    this.#counts = options.counts;
  }

  /** May be called again, which restarts the window. */
  open(): void {
    this.#from = this.#readWithCpu();
    this.#middle = undefined;
  }

  passMiddle(): void {
    this.#middle = this.#read();
  }

  close(): void {
    this.#to = this.#readWithCpu();
  }

  get isOpen(): boolean {
    return this.#from !== undefined && this.#to === undefined;
  }

  /** Whether a message sent at this time belongs to it: also one that is delivered after the window closed. */
  covers(sentAtMs: number): boolean {
    return (
      this.#from !== undefined &&
      sentAtMs >= this.#from.atMs &&
      (this.#to === undefined || sentAtMs < this.#to.atMs)
    );
  }

  /** `endedAtMs` where the work ended before somebody looked. */
  result(endedAtMs?: number): LoadWindow {
    const [from, to] = [this.#from!, this.#to!];
    const middle = this.#middle ?? to;
    return {
      ms: Math.max(0, Math.min(to.atMs, endedAtMs ?? to.atMs) - from.atMs),
      enqueued: to.enqueued - from.enqueued,
      consumed: to.consumed - from.consumed,
      cpuUs: from.cpuUs === null || to.cpuUs === null ? null : to.cpuUs - from.cpuUs,
      firstHalf: {
        ms: middle.atMs - from.atMs,
        enqueued: middle.enqueued - from.enqueued,
        consumed: middle.consumed - from.consumed,
      },
    };
  }

  #read(): Reading {
    return { atMs: this.#clock(), ...this.#counts() };
  }

  #readWithCpu() {
    const { user, system } = process.cpuUsage();
    const server = cpuUsOfTrees(this.#serverPids);
    return { ...this.#read(), cpuUs: server === null ? null : user + system + server };
  }
}
