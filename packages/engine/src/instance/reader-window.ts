/**
 * What one reader has of its shard in memory: runs of records in order, as they were committed or read back, and the
 * cursor that moves over them, message by message. It never goes back; what comes back is the reader's own affair.
 */
import { limits } from '../core/limits.ts';
import { readEnqueuedAtMs, recordEnd } from '../storage/message-record.ts';
import type { CachedRun } from './message-cache.ts';
import type { Shard } from './shard.ts';

export class ReaderWindow {
  readonly #shard: Shard;
  /** Those before `#head` are done with, and cut off now and then. */
  #runs: CachedRun[] = [];
  #head = 0;
  /** Numbers below were taken in, or are nothing to take in. */
  #end: number;
  #bytes = 0;
  #cursor: number;
  /** Offset of the cursor's record in the first run; -1 before it is known. */
  #cursorAt = -1;

  constructor(shard: Shard, firstSeq: number) {
    this.#shard = shard;
    this.#end = firstSeq;
    this.#cursor = firstSeq;
  }

  /** Number of the next message; of the next one in memory, once `run` was asked for. */
  get cursor(): number {
    return this.#cursor;
  }

  /** Where the record of the message at the cursor starts in `run`, once that was asked for. */
  get cursorAt(): number {
    return this.#cursorAt;
  }

  get isEmpty(): boolean {
    return this.#head === this.#runs.length;
  }

  /** The run that the message at the cursor is in; undefined if it is not in memory. */
  get run(): CachedRun | undefined {
    const run = this.#runs[this.#head];
    if (run !== undefined && this.#cursorAt < 0) this.#enter(run);
    return run;
  }

  /** When the message at the cursor was enqueued, epoch ms; undefined if it is not in memory. */
  get enqueuedAtMs(): number | undefined {
    const run = this.#runs[this.#head];
    return run && readEnqueuedAtMs(run.buffer, this.#cursorAt < 0 ? run.start : this.#cursorAt);
  }

  /** Takes in a committed run if the window reaches up to it and the cache has room. Returns how many had no place. */
  append(run: CachedRun): number {
    const { persistent, cache } = this.#shard;
    const hasRoom = !(persistent && cache.full);
    if (this.#end === run.firstSeq && hasRoom) this.#push(run);
    else if (this.#end <= run.firstSeq) return run.count;
    return 0;
  }

  #push(run: CachedRun): void {
    this.#runs.push(run);
    this.#end = run.firstSeq + run.count;
    this.#bytes += run.end - run.start;
    this.#shard.keep(run, this.#shard.persistent ? 1 : run.count);
  }

  /** The number to read from the partitions next, where all below `terminalEnd` is terminal; undefined if all is well. */
  nextRead(terminalEnd: number): number | undefined {
    const { committedEnd } = this.#shard;
    // What is terminal need not be read, and its partition may be gone.
    if (this.isEmpty && this.#end < terminalEnd) {
      this.#end = Math.min(terminalEnd, committedEnd);
      this.#cursor = Math.max(this.#cursor, this.#end);
    }
    if (this.#end >= committedEnd) return undefined;
    return this.#bytes * 2 < limits.backlogReadBytes ? this.#end : undefined;
  }

  /** Takes in a bulk read of consecutive runs; `readEnd` is how far the read can vouch for. */
  load(runs: readonly CachedRun[], readEnd: number): void {
    const { committedEnd } = this.#shard;
    for (const run of runs) {
      if (run.firstSeq + run.count > this.#end && run.firstSeq < committedEnd) this.#push(run);
    }
    this.#end = Math.max(this.#end, Math.min(readEnd, committedEnd));
    if (this.isEmpty) this.#cursor = Math.max(this.#cursor, this.#end);
  }

  /** Numbers that will never be messages. */
  skip(start: number, end: number): void {
    if (this.#end === start) this.#end = end;
  }

  #enter(run: CachedRun): void {
    // Numbers between the cursor and the run are gaps; a run read from disk may start below the cursor.
    let at = run.start;
    let seq = run.firstSeq;
    for (; seq < this.#cursor; seq += 1) at = recordEnd(run.buffer, at);
    this.#cursor = seq;
    this.#cursorAt = at;
  }

  /** Moves the cursor over so many messages of `run`; returns where the last one's record ends. */
  advance(run: CachedRun, count: number): number {
    const end = run.firstSeq + run.count;
    const seq = this.#cursor + count;
    let at = this.#cursorAt;
    if (seq === end) at = run.end;
    else for (let i = 0; i < count; i += 1) at = recordEnd(run.buffer, at);
    this.#cursor = seq;
    this.#cursorAt = at;
    if (seq === end) this.#leave(run);
    return at;
  }

  #leave(run: CachedRun): void {
    this.#head += 1;
    if (this.isEmpty) {
      this.#runs.length = 0;
      this.#head = 0;
    } else if (this.#head > 1_024 && this.#head * 2 > this.#runs.length) {
      this.#runs = this.#runs.slice(this.#head);
      this.#head = 0;
    }
    this.#cursorAt = -1;
    this.#bytes -= run.end - run.start;
    // A nonpersistent message stays in memory until it is consumed.
    if (this.#shard.persistent) this.#shard.letGo(run, 1);
  }

  /** The runs from the one at the cursor on. */
  get ahead(): CachedRun[] {
    return this.#runs.slice(this.#head);
  }

  /** Gives up what it keeps in the cache. */
  dispose(): void {
    for (const run of this.ahead) {
      const left = run.firstSeq + run.count - Math.max(run.firstSeq, this.#cursor);
      this.#shard.letGo(run, this.#shard.persistent ? 1 : left);
    }
    this.#runs.length = 0;
    this.#head = 0;
  }
}
