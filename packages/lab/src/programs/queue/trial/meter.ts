/** Counts and times the work of one instance's sessions, for ticks and for the measured window. */
import type { InstanceSample } from '@shardlab/contract';
import type { SessionTimes, WaitStats } from '@shardlab/engine';
import type { Clock } from '../../../meters/clock.ts';
import { type Counts, countsBetween } from '../../../meters/counts.ts';
import {
  createHistogram,
  encodeHistogram,
  type Histogram,
  latencyOf,
  recordMs,
} from '../../../meters/latency.ts';
import { timesBetween } from '../../../meters/session-times.ts';
import { threadCpuUs } from '../../../meters/thread-cpu.ts';
import { waitMsByClass, waitsBetween } from '../../../meters/wait-totals.ts';
import { CommitGaps } from './commit-gaps.ts';
import type { Host } from './host.ts';
import type { WindowResult } from './protocol.ts';

interface Reading {
  atMs: number;
  enqueued: number;
  consumed: number;
  cpuUs: number;
  syncs: number;
  waits: WaitStats[];
  counters: Counts;
  times: SessionTimes;
  threadCpuUs: number;
  writerCpuUs: number;
}

export class Meter {
  readonly #host: Host;
  readonly #clock: Clock;
  /** Times since the last tick or phase change; added to the window while it is open. */
  readonly #recentLatency = createHistogram();
  readonly #recentCall = createHistogram();
  readonly #recentCommit = createHistogram();
  readonly #windowLatency = createHistogram();
  readonly #windowCall = createHistogram();
  readonly #windowCommit = createHistogram();
  #windowStart: Reading | null = null;
  #windowMiddle: Reading | null = null;
  #windowEnd: Reading | null = null;
  #lastTick: Reading;
  /** Gaps between all commits, and between those that enqueue. */
  readonly gaps: CommitGaps;
  readonly enqueueGaps: CommitGaps;

  /** Messages of committed transactions since the start. */
  enqueued = 0;
  consumed = 0;

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
    this.#lastTick = this.#read();
    this.gaps = new CommitGaps(clock);
    this.enqueueGaps = new CommitGaps(clock);
  }

  /** Records the time from the start of the enqueuing commit to the delivery, for `count` messages. */
  recordLatency(ms: number, count = 1): void {
    recordMs(this.#recentLatency, ms, count);
  }

  /** One dequeue call that found ready messages, from call to return. */
  recordDequeueCall(ms: number): void {
    recordMs(this.#recentCall, ms);
  }

  /** One commit, from call to acknowledgement, without an emulated round trip. */
  recordCommit(ms: number): void {
    recordMs(this.#recentCommit, ms);
  }

  beginWindow(): void {
    this.#flushRecent();
    this.#windowStart = this.#read();
  }

  /** Call it half-way through the window. */
  halveWindow(): void {
    this.#windowMiddle = this.#read();
  }

  endWindow(): void {
    this.#flushRecent();
    this.#windowEnd = this.#read();
  }

  /** Call it after `endWindow`. */
  window(): WindowResult {
    const [start, middle, end] = [this.#windowStart!, this.#windowMiddle!, this.#windowEnd!];
    return {
      ms: end.atMs - start.atMs,
      enqueued: end.enqueued - start.enqueued,
      consumed: end.consumed - start.consumed,
      firstHalf: {
        ms: middle.atMs - start.atMs,
        enqueued: middle.enqueued - start.enqueued,
        consumed: middle.consumed - start.consumed,
      },
      cpuUs: end.cpuUs - start.cpuUs,
      syncs: end.syncs - start.syncs,
      waits: waitsBetween(start.waits, end.waits),
      counters: countsBetween(start.counters, end.counters),
      times: timesBetween(start.times, end.times),
      threadCpuUs: end.threadCpuUs - start.threadCpuUs,
      writerCpuUs: end.writerCpuUs - start.writerCpuUs,
      latency: encodeHistogram(this.#windowLatency),
      dequeueCall: encodeHistogram(this.#windowCall),
      commit: encodeHistogram(this.#windowCommit),
    };
  }

  /** Time of the last tick. */
  get lastTickMs(): number {
    return this.#lastTick.atMs;
  }

  /** Returns the work since the previous tick. */
  tick(): InstanceSample {
    const now = this.#read();
    const last = this.#lastTick;
    this.#lastTick = now;
    const spanMs = Math.max(now.atMs - last.atMs, 1);
    const seconds = spanMs / 1000;
    const { p50, p99 } = latencyOf(this.#recentLatency);
    this.#flushRecent();
    return {
      instance: this.#host.id,
      spanMs: Number(spanMs.toFixed(1)),
      enqueuePerSec: Math.round((now.enqueued - last.enqueued) / seconds),
      dequeuePerSec: Math.round((now.consumed - last.consumed) / seconds),
      cpu: Number(((now.cpuUs - last.cpuUs) / 1e6 / seconds).toFixed(3)),
      latencyMs: { p50, p99 },
      waitMsByClass: waitMsByClass(waitsBetween(last.waits, now.waits)),
      shards: this.#host.shards(),
    };
  }

  /** Adds the recent times to the window if it is open. */
  #flushRecent(): void {
    const measuring = this.#windowStart !== null && this.#windowEnd === null;
    for (const [recent, window] of [
      [this.#recentLatency, this.#windowLatency],
      [this.#recentCall, this.#windowCall],
      [this.#recentCommit, this.#windowCommit],
    ] satisfies [Histogram, Histogram][]) {
      if (measuring) window.add(recent);
      recent.reset();
    }
  }

  /**
   * The time and what accumulates with it are read together, after the statistics, which take long. Time between them would be
   * missing from the waits of a window or be too much, so that more sessions seemed to wait than there are.
   */
  #read(): Reading {
    const syncs = this.#host.syncs();
    const writerCpuUs = this.#host.writerCpuUs();
    const { user, system } = process.cpuUsage();
    return {
      syncs,
      writerCpuUs,
      cpuUs: user + system,
      threadCpuUs: threadCpuUs(),
      enqueued: this.enqueued,
      consumed: this.consumed,
      counters: this.#host.waits.counters(),
      atMs: this.#clock(),
      waits: this.#host.waits.snapshot(),
      times: this.#host.waits.sessionTimes(),
    };
  }
}
