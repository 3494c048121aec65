/**
 * The records of committed messages that are in memory: `MessageCache` bounds their bytes over all queues of an instance,
 * `CacheShare` those of one queue, and `CursorWindow` has those ahead of one cursor's position.
 */

import { limits } from '../api/limits.ts';
import type { Seq } from '../model/ids.ts';
import { readEnqueuedAtMs, recordEnd } from '../model/message-record.ts';

/**
 * One bound in bytes over all queues. Each queue may have a reserved minimum and a maximum of its own. A log caches a window of
 * consecutive records, from the one that is delivered next towards its newest; messages that do not fit are read back from their
 * partitions later, so the cache never evicts what is needed soonest.
 *
 * Other queues cannot use a queue's unused reserved bytes. A queue that is opened when others have filled the cache gets its
 * minimum as they drain, since the bound over all queues takes precedence.
 */
export class MessageCache {
  /** May be changed at any time. Past a smaller bound nothing is added, and cached messages leave as they are consumed. */
  bytesMax: number;
  #bytes = 0;
  /** Reserved bytes that queues do not fill. */
  #reservedBytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the share of a queue. */
  openShare({
    bytesMin = 0,
    bytesMax = null,
  }: {
    bytesMin?: number;
    bytesMax?: number | null;
  } = {}): CacheShare {
    this.#reservedBytes += bytesMin;
    return new CacheShare({
      bytesMin,
      bytesMax,
      hasCapacity: (withinMin) => this.#bytes + (withinMin ? 0 : this.#reservedBytes) < this.bytesMax,
      onChange: (bytes, reservedBytes) => {
        this.#bytes += bytes;
        this.#reservedBytes += reservedBytes;
      },
    });
  }
}

interface CacheShareOptions {
  bytesMin: number;
  bytesMax: number | null;
  hasCapacity(withinMin: boolean): boolean;
  /** Called with the change of its bytes, and of the reserved bytes that it does not fill. */
  onChange(bytes: number, reservedBytes: number): void;
}

/** The part of the cache that one queue uses. */
export class CacheShare {
  readonly #options: CacheShareOptions;
  #bytes = 0;
  /** Its queue was dropped: nothing is reserved for it. */
  #closed = false;

  constructor(options: CacheShareOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    const { bytesMin, bytesMax, hasCapacity } = this.#options;
    if (bytesMax !== null && this.#bytes >= bytesMax) return true;
    return !hasCapacity(this.#bytes < bytesMin);
  }

  add(bytes: number): void {
    this.#change(bytes);
  }

  remove(bytes: number): void {
    this.#change(-bytes);
  }

  #change(bytes: number): void {
    const before = this.#reservedBytes;
    this.#bytes += bytes;
    this.#options.onChange(bytes, this.#reservedBytes - before);
  }

  get #reservedBytes(): number {
    return this.#closed ? 0 : Math.max(0, this.#options.bytesMin - this.#bytes);
  }

  close(): void {
    const before = this.#reservedBytes;
    this.#closed = true;
    this.#options.onChange(0, -before);
  }
}

/** Records of consecutive messages in memory. */
export interface CachedRun {
  firstSeq: Seq;
  count: number;
  buffer: Buffer;
  start: number;
  end: number;
  /** It was read back from its partition, instead of staying in the cache since its commit. */
  fromDisk: boolean;
  /** Uses that are not released yet; at 0 its bytes leave the cache: see `MessageLog.retainCached`. */
  retainCount: number;
}

/** The interface of the log that a window reads. */
export interface CachedLog {
  /** False for a nonpersistent queue: its messages are in the cache only. */
  readonly persistent: boolean;
  /** Messages with lower numbers are committed. */
  readonly committedEndSeq: Seq;
  readonly cacheShare: CacheShare;
  retainCached(run: CachedRun, times: number): void;
  releaseCached(run: CachedRun, times: number): void;
}

/**
 * Runs of records in order, as they were committed or read back, and the position of the next message that was never
 * delivered. The position only moves forward: `CursorDeliveries` keeps the messages that are returned.
 */
export class CursorWindow {
  readonly #log: CachedLog;
  /** Runs before `#headIndex` are finished, and removed from time to time. */
  #runs: CachedRun[] = [];
  #headIndex = 0;
  /** All lower numbers are in the window, were in it, or will never be messages. */
  #endSeq: Seq;
  #bytes = 0;
  #nextSeq: Seq;
  /** Offset of the next message's record in the first run; -1 while it is not known. */
  #nextOffset = -1;

  constructor(log: CachedLog, firstSeq: Seq) {
    this.#log = log;
    this.#endSeq = firstSeq;
    this.#nextSeq = firstSeq;
  }

  /** Number of the next message. Reading `currentRun` moves it over gaps, to the next message in memory. */
  get nextSeq(): Seq {
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
  nextReadSeq(terminalEnd: Seq): Seq | undefined {
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
  addReadRuns(runs: readonly CachedRun[], readEnd: Seq): void {
    const { committedEndSeq } = this.#log;
    for (const run of runs) {
      if (run.firstSeq + run.count > this.#endSeq && run.firstSeq < committedEndSeq) this.#addRun(run);
    }
    this.#endSeq = Math.max(this.#endSeq, Math.min(readEnd, committedEndSeq));
    if (this.isEmpty) this.#nextSeq = Math.max(this.#nextSeq, this.#endSeq);
  }

  /** The numbers from `start` up to but excluding `end` will never be messages. */
  skipGap(start: Seq, end: Seq): void {
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
