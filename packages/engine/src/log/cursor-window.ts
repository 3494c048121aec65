/**
 * The part of a log that one cursor has in memory: runs of records in order, as they were committed or read back, and the
 * position of the next message that was never delivered. The position only moves forward: `CursorDeliveries` keeps
 * the messages that are returned.
 */
import { limits } from '../api/limits.ts';
import { readEnqueuedAtMs, recordEnd } from '../model/message-record.ts';
import type { CursorLog } from './cursor-log.ts';
import type { CachedRun } from './message-cache.ts';

export class CursorWindow {
  readonly #log: CursorLog;
  /** Runs before `#headIndex` are finished, and removed from time to time. */
  #runs: CachedRun[] = [];
  #headIndex = 0;
  /** All lower numbers are in the window, were in it, or will never be messages. */
  #endSeq: number;
  #bytes = 0;
  #nextSeq: number;
  /** Offset of the next message's record in the first run; -1 while it is not known. */
  #nextOffset = -1;

  constructor(log: CursorLog, firstSeq: number) {
    this.#log = log;
    this.#endSeq = firstSeq;
    this.#nextSeq = firstSeq;
  }

  /** Number of the next message. Reading `currentRun` moves it over gaps, to the next message in memory. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Offset of the next message's record in `currentRun`; valid once that was read. */
  get nextOffset(): number {
    return this.#nextOffset;
  }

  get isEmpty(): boolean {
    return this.#headIndex === this.#runs.length;
  }

  /** The run that contains the next message; undefined if it is not in memory. */
  get currentRun(): CachedRun | undefined {
    const run = this.#runs[this.#headIndex];
    if (run !== undefined && this.#nextOffset < 0) this.#locateNext(run);
    return run;
  }

  /** Enqueue time of the next message, epoch ms; undefined if it is not in memory. */
  get nextEnqueuedAtMs(): number | undefined {
    const run = this.#runs[this.#headIndex];
    return run && readEnqueuedAtMs(run.buffer, this.#nextOffset < 0 ? run.start : this.#nextOffset);
  }

  /** Adds a committed run if the window reaches up to it and the cache is not full. Returns how many messages it left out. */
  append(run: CachedRun): number {
    const { persistent, cacheShare } = this.#log;
    const hasCapacity = !(persistent && cacheShare.isFull);
    if (this.#endSeq === run.firstSeq && hasCapacity) this.#addRun(run);
    else if (this.#endSeq <= run.firstSeq) return run.count;
    return 0;
  }

  #addRun(run: CachedRun): void {
    this.#runs.push(run);
    this.#endSeq = run.firstSeq + run.count;
    this.#bytes += run.end - run.start;
    this.#log.retainCached(run, this.#log.persistent ? 1 : run.count);
  }

  /** The number from which to read the partitions, or undefined if no read is due. All below `terminalEnd` is terminal. */
  nextReadSeq(terminalEnd: number): number | undefined {
    const { committedEndSeq } = this.#log;
    // Terminal messages need not be read, and their partition may be truncated. Runs that are left are terminal as well.
    if (this.#endSeq < terminalEnd) {
      this.#endSeq = Math.min(terminalEnd, committedEndSeq);
      if (this.isEmpty) this.#nextSeq = Math.max(this.#nextSeq, this.#endSeq);
    }
    if (this.#endSeq >= committedEndSeq) return undefined;
    return this.#bytes * 2 < limits.backlogReadBytes ? this.#endSeq : undefined;
  }

  /** Adds the runs of a bulk read; numbers below `readEnd` that are not among them will never be messages. */
  addReadRuns(runs: readonly CachedRun[], readEnd: number): void {
    const { committedEndSeq } = this.#log;
    for (const run of runs) {
      if (run.firstSeq + run.count > this.#endSeq && run.firstSeq < committedEndSeq) this.#addRun(run);
    }
    this.#endSeq = Math.max(this.#endSeq, Math.min(readEnd, committedEndSeq));
    if (this.isEmpty) this.#nextSeq = Math.max(this.#nextSeq, this.#endSeq);
  }

  /** The numbers from `start` up to but excluding `end` will never be messages. */
  skipGap(start: number, end: number): void {
    if (this.#endSeq === start) this.#endSeq = end;
  }

  #locateNext(run: CachedRun): void {
    // Numbers between the position and the run are gaps; a run read from disk may start below the position.
    let offset = run.start;
    let seq = run.firstSeq;
    for (; seq < this.#nextSeq; seq += 1) offset = recordEnd(run.buffer, offset);
    this.#nextSeq = seq;
    this.#nextOffset = offset;
  }

  /** Moves the position over `count` messages of `run`; returns the offset where the last one's record ends. */
  advance(run: CachedRun, count: number): number {
    const end = run.firstSeq + run.count;
    const seq = this.#nextSeq + count;
    let offset = this.#nextOffset;
    if (seq === end) offset = run.end;
    else for (let i = 0; i < count; i += 1) offset = recordEnd(run.buffer, offset);
    this.#nextSeq = seq;
    this.#nextOffset = offset;
    if (seq === end) this.#finishRun(run);
    return offset;
  }

  #finishRun(run: CachedRun): void {
    this.#headIndex += 1;
    if (this.isEmpty) {
      this.#runs.length = 0;
      this.#headIndex = 0;
    } else if (this.#headIndex > 1_024 && this.#headIndex * 2 > this.#runs.length) {
      this.#runs = this.#runs.slice(this.#headIndex);
      this.#headIndex = 0;
    }
    this.#nextOffset = -1;
    this.#bytes -= run.end - run.start;
    // A nonpersistent message stays in memory until it is consumed.
    if (this.#log.persistent) this.#log.releaseCached(run, 1);
  }

  /** The runs that are not finished. */
  get remainingRuns(): CachedRun[] {
    return this.#runs.slice(this.#headIndex);
  }

  /** Releases its runs from the cache. */
  dispose(): void {
    for (const run of this.remainingRuns) {
      const remaining = run.firstSeq + run.count - Math.max(run.firstSeq, this.#nextSeq);
      this.#log.releaseCached(run, this.#log.persistent ? 1 : remaining);
    }
    this.#runs.length = 0;
    this.#headIndex = 0;
  }
}
