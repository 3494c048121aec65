/** The measured window of a job: the work of its process and its server between two readings, and at its middle. */
import type { WaitLog } from '@shardlab/engine';
import { allocatedBytes } from '../../meters/allocated-bytes.ts';
import type { Clock } from '../../meters/clock.ts';
import { createHistogram } from '../../meters/latency.ts';
import { SessionWindow } from '../../meters/session-window.ts';
import { readKernelCounters } from '../../surroundings/kernel-counters.ts';
import type { QueueClient } from '../../systems/driver/driver.ts';
import { cpuUsOfTrees } from '../../systems/driver/process-cpu.ts';
import type { LoadWindow, WindowCounts } from './load-job.ts';

interface Reading {
  atMs: number;
  enqueued: number;
  consumed: number;
}

/** Null: the system does not report it. */
interface WholeReading extends Reading {
  clientCpuUs: number;
  serverCpuUs: number | null;
  counts: WindowCounts;
}

export class Window {
  readonly latency = createHistogram();
  readonly #clock: Clock;
  readonly #serverPids: readonly number[];
  readonly #counts: () => { enqueued: number; consumed: number };
  readonly #written: QueueClient['written'];
  readonly #sessions: SessionWindow;
  #from: WholeReading | undefined;
  #middle: Reading | undefined;
  #to: WholeReading | undefined;

  constructor(options: {
    clock: Clock;
    serverPids: readonly number[];
    counts: () => { enqueued: number; consumed: number };
    /** Of the sessions of this process. */
    waits: WaitLog;
    written: QueueClient['written'];
  }) {
    this.#clock = options.clock;
    this.#serverPids = options.serverPids;
    this.#counts = options.counts;
    this.#written = options.written;
    this.#sessions = new SessionWindow(options.waits);
  }

  /** May be called again, which restarts the window. */
  open(): void {
    this.#from = this.#readWhole();
    this.#sessions.open();
    this.#middle = undefined;
  }

  passMiddle(): void {
    this.#middle = this.#read();
  }

  close(): void {
    this.#to = this.#readWhole();
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
      counts: {
        syncs: differenceOf(from.counts.syncs, to.counts.syncs),
        rows: differenceOf(from.counts.rows, to.counts.rows),
        diskBytes: differenceOf(from.counts.diskBytes, to.counts.diskBytes),
        heapBytes: differenceOf(from.counts.heapBytes, to.counts.heapBytes),
      },
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

  #readWhole(): WholeReading {
    const { user, system } = process.cpuUsage();
    const written = this.#written?.();
    const counts: WindowCounts = {
      syncs: written?.syncs ?? null,
      rows: written?.rows ?? null,
      diskBytes:
        this.#serverPids.length === 0 ? (readKernelCounters([process.pid], 0)?.diskBytes ?? null) : null,
      heapBytes: allocatedBytes() ?? null,
    };
    return {
      ...this.#read(),
      clientCpuUs: user + system,
      serverCpuUs: cpuUsOfTrees(this.#serverPids),
      counts,
    };
  }
}

const differenceOf = (from: number | null, to: number | null) =>
  from === null || to === null ? null : to - from;
