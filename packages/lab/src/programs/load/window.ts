/** The measured window of a job: the work of its process and its server between two readings, and at its middle. */
import type { WaitLog } from '@shardlab/engine';
import type { Clock } from '../../meters/clock.ts';
import { createHistogram } from '../../meters/latency.ts';
import { SessionWindow } from '../../meters/session-window.ts';
import { cpuUsOfTrees } from '../../systems/driver/process-cpu.ts';
import type { LoadWindow } from './load-job.ts';

interface Reading {
  atMs: number;
  enqueued: number;
  consumed: number;
}

/** Null: the system does not report it. */
interface ReadingWithCpu extends Reading {
  clientCpuUs: number;
  serverCpuUs: number | null;
}

export class Window {
  readonly latency = createHistogram();
  readonly #clock: Clock;
  readonly #serverPids: readonly number[];
  readonly #counts: () => { enqueued: number; consumed: number };
  readonly #sessions: SessionWindow;
  #from: ReadingWithCpu | undefined;
  #middle: Reading | undefined;
  #to: ReadingWithCpu | undefined;

  constructor(options: {
    clock: Clock;
    serverPids: readonly number[];
    counts: () => { enqueued: number; consumed: number };
    /** Of the sessions of this process. */
    waits: WaitLog;
  }) {
    this.#clock = options.clock;
    this.#serverPids = options.serverPids;
    this.#counts = options.counts;
    this.#sessions = new SessionWindow(options.waits);
  }

  /** May be called again, which restarts the window. */
  open(): void {
    this.#from = this.#readWithCpu();
    this.#sessions.open();
    this.#middle = undefined;
  }

  passMiddle(): void {
    this.#middle = this.#read();
  }

  close(): void {
    this.#to = this.#readWithCpu();
    this.#sessions.close();
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

  /** `endedAtMs` is given if the work ended before this call. */
  result(endedAtMs?: number): LoadWindow {
    const [from, to] = [this.#from!, this.#to!];
    const middle = this.#middle ?? to;
    const serverCpuUs = differenceOf(from.serverCpuUs, to.serverCpuUs);
    return {
      ms: Math.max(0, Math.min(to.atMs, endedAtMs ?? to.atMs) - from.atMs),
      enqueued: to.enqueued - from.enqueued,
      consumed: to.consumed - from.consumed,
      cpuUs: serverCpuUs === null ? null : to.clientCpuUs - from.clientCpuUs + serverCpuUs,
      serverCpuUs: this.#serverPids.length === 0 ? null : serverCpuUs,
      firstHalf: {
        ms: middle.atMs - from.atMs,
        enqueued: middle.enqueued - from.enqueued,
        consumed: middle.consumed - from.consumed,
      },
      ...this.#sessions.result(),
    };
  }

  #read(): Reading {
    return { atMs: this.#clock(), ...this.#counts() };
  }

  #readWithCpu(): ReadingWithCpu {
    const { user, system } = process.cpuUsage();
    return { ...this.#read(), clientCpuUs: user + system, serverCpuUs: cpuUsOfTrees(this.#serverPids) };
  }
}

const differenceOf = (from: number | null, to: number | null) =>
  from === null || to === null ? null : to - from;
