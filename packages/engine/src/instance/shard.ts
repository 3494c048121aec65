/**
 * One shard in memory: the order of its messages, which of them are handed out, and what is terminal. Its first
 * deliveries go strictly in order of sequence (invariant 4): a cursor moves over the window of cached records, and
 * messages that come back (rollback, release, expired hold) are handed out again before it moves on.
 */
import { Consumption, type SeqRange } from '../core/consumption.ts';
import { limits } from '../core/limits.ts';
import { PartitionLife } from '../core/partition-life.ts';
import { recordEnd } from '../storage/message-record.ts';
import type { CachedRun, MessageCache } from './message-cache.ts';

/** One hand-out of one message. */
export interface Delivery {
  readonly shard: Shard;
  readonly seq: number;
  readonly source: Buffer;
  readonly start: number;
  readonly deliveryCount: number;
  /** Unique in the instance's epoch; what a receipt is checked against. */
  readonly holdNo: number;
}

export interface ShardStart {
  queueId: number;
  no: number;
  persistent: boolean;
  firstSeq: number;
  endSeq: number;
  partitionMessagesMax: number;
}

export class Shard {
  readonly queueId: number;
  readonly no: number;
  /** False for nonpersistent queues: their messages live in the cache alone. */
  readonly persistent: boolean;
  readonly partitions: PartitionLife;
  readonly consumption: Consumption;
  /** Number of the next message to be grouped for commit. */
  nextSeq: number;
  /** Messages below are committed. */
  committedEnd: number;
  held = 0;
  /** Its queue was dropped: nothing more is committed to it. */
  dropped = false;
  /** Sessions bound to it. */
  boundSessions = 0;
  /** Numbers of failed groups: terminal without ever having been messages. */
  gaps = 0;
  readonly firstSeq: number;
  readonly #cache: MessageCache;
  /** Runs in order; those before `#head` are done with, and cut off now and then. */
  #window: CachedRun[] = [];
  #head = 0;
  #windowEnd: number;
  #windowBytes = 0;
  #cursor: number;
  /** Offset of the cursor's record in the first run of the window. */
  #cursorAt = -1;
  /** Handed out before and back again, by sequence, the lowest last. */
  readonly #returned: Delivery[] = [];
  /** Of a nonpersistent shard, what was handed out and is not consumed: nothing else remembers it. */
  readonly #handedOut = new Map<number, Delivery>();
  /** How often the ones were handed out that came back at least once. */
  readonly #redelivered = new Map<number, number>();
  /** Until the cursor has passed what was there at recovery, it skips what is terminal. */
  readonly #recoveredEnd: number;
  #recoveredTerminal: readonly SeqRange[] | undefined;

  constructor(start: ShardStart, cache: MessageCache) {
    this.queueId = start.queueId;
    this.no = start.no;
    this.persistent = start.persistent;
    this.firstSeq = start.firstSeq;
    this.partitions = new PartitionLife(start.partitionMessagesMax);
    this.consumption = new Consumption(start.firstSeq);
    this.nextSeq = start.endSeq;
    this.committedEnd = start.endSeq;
    this.#recoveredEnd = start.endSeq;
    this.#cursor = start.firstSeq;
    this.#windowEnd = start.firstSeq;
    this.#cache = cache;
  }

  /** Messages committed since the queue was made; for a nonpersistent one, since the instance opened. */
  get enqueued(): number {
    return this.committedEnd - (this.persistent ? 1 : this.firstSeq) - this.gaps;
  }

  /** Messages committed and not consumed, held ones included. */
  get backlog(): number {
    return this.committedEnd - this.firstSeq - this.consumption.countFrom(this.firstSeq);
  }

  get ready(): number {
    return this.backlog - this.held;
  }

  get cacheBytes(): number {
    return this.#windowBytes;
  }

  /** Makes a committed run visible. It is cached if the window reaches up to it and the cache has room. */
  append(run: CachedRun): void {
    const cached = this.#windowEnd === this.committedEnd;
    this.committedEnd = run.firstSeq + run.count;
    if (cached && !(this.persistent && this.#cache.full)) this.#push(run);
  }

  #push(run: CachedRun): void {
    this.#window.push(run);
    this.#windowEnd = run.firstSeq + run.count;
    this.#windowBytes += run.end - run.start;
    this.#cache.add(run.end - run.start);
  }

  /** The number to read from the partitions next, or undefined if the window is good for now. */
  nextRead(): number | undefined {
    if (this.dropped) return undefined;
    // What is terminal need not be read, and its partition may be gone.
    if (this.#head === this.#window.length && this.#windowEnd < this.consumption.watermark) {
      this.#windowEnd = Math.min(this.consumption.watermark, this.committedEnd);
      this.#cursor = Math.max(this.#cursor, this.#windowEnd);
    }
    if (this.#windowEnd >= this.committedEnd) return undefined;
    return this.#windowBytes * 2 < limits.backlogReadBytes ? this.#windowEnd : undefined;
  }

  /** Takes in a bulk read of consecutive runs; `readEnd` is how far the read can vouch for. */
  load(runs: readonly CachedRun[], readEnd: number): void {
    if (this.dropped) return;
    for (const run of runs) {
      const end = run.firstSeq + run.count;
      if (end <= this.#windowEnd || run.firstSeq >= this.committedEnd) continue;
      this.#push(run);
    }
    this.#windowEnd = Math.max(this.#windowEnd, Math.min(readEnd, this.committedEnd));
    if (this.#head === this.#window.length) this.#cursor = Math.max(this.#cursor, this.#windowEnd);
  }

  /** Hands out up to `max` messages into `out`; returns how many. Empty-handed with a backlog: see `readFrom`. */
  take(max: number, nextHoldNo: () => number, out: Delivery[]): number {
    if (this.dropped) return 0;
    let taken = 0;
    while (taken < max) {
      const back = this.#returned.pop();
      if (back === undefined) break;
      const deliveryCount = back.deliveryCount + 1;
      this.#redelivered.set(back.seq, deliveryCount);
      out.push({ ...back, deliveryCount, holdNo: nextHoldNo() });
      taken += 1;
    }
    while (taken < max) {
      const run = this.#window[this.#head];
      if (run === undefined) break;
      if (this.#cursorAt < 0) this.#enter(run);
      const seq = this.#cursor;
      const start = this.#cursorAt;
      this.#advance(run);
      if (seq < this.#recoveredEnd && this.#wasTerminal(seq)) continue;
      const delivery = {
        shard: this,
        seq,
        source: run.buffer,
        start,
        deliveryCount: 1,
        holdNo: nextHoldNo(),
      };
      if (!this.persistent) this.#handedOut.set(seq, delivery);
      out.push(delivery);
      taken += 1;
    }
    this.held += taken;
    return taken;
  }

  #enter(run: CachedRun): void {
    // Numbers between the cursor and the run are gaps; a run read from disk may start below the cursor.
    let at = run.start;
    let seq = run.firstSeq;
    for (; seq < this.#cursor; seq += 1) at = recordEnd(run.buffer, at);
    this.#cursor = seq;
    this.#cursorAt = at;
  }

  #advance(run: CachedRun): void {
    this.#cursor += 1;
    if (this.#cursor < run.firstSeq + run.count) {
      this.#cursorAt = recordEnd(run.buffer, this.#cursorAt);
      return;
    }
    this.#head += 1;
    if (this.#head === this.#window.length) {
      this.#window.length = 0;
      this.#head = 0;
    } else if (this.#head > 1_024 && this.#head * 2 > this.#window.length) {
      this.#window = this.#window.slice(this.#head);
      this.#head = 0;
    }
    this.#cursorAt = -1;
    // A nonpersistent message stays in memory until it is consumed, so it counts until then.
    if (this.persistent) this.#forgetBytes(run.end - run.start);
  }

  #forgetBytes(bytes: number): void {
    this.#windowBytes -= bytes;
    this.#cache.remove(bytes);
  }

  #wasTerminal(seq: number): boolean {
    this.#recoveredTerminal ??= this.consumption.ranges();
    if (seq < this.consumption.watermark) return true;
    let low = 0;
    let high = this.#recoveredTerminal.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#recoveredTerminal[middle]![1] <= seq) low = middle + 1;
      else high = middle;
    }
    return low < this.#recoveredTerminal.length && this.#recoveredTerminal[low]![0] <= seq;
  }

  /** Hand-outs ended without being consumed: these messages are the next to go. */
  giveBack(deliveries: readonly Delivery[]): void {
    this.held -= deliveries.length;
    for (const delivery of deliveries) this.#returned.push(delivery);
    this.#returned.sort((a, b) => b.seq - a.seq);
  }

  /** Committed consumption of `ranges`, all of them held. */
  consume(ranges: readonly SeqRange[]): void {
    for (const [start, end] of ranges) {
      this.consumption.add(start, end);
      this.held -= end - start;
      if (this.#redelivered.size + this.#handedOut.size === 0) continue;
      for (let seq = start; seq < end; seq += 1) {
        this.#redelivered.delete(seq);
        const delivery = this.#handedOut.get(seq);
        if (delivery === undefined) continue;
        this.#handedOut.delete(seq);
        this.#forgetBytes(recordEnd(delivery.source, delivery.start) - delivery.start);
      }
    }
  }

  /** How a live message stands. O(messages that came back): for browsing. */
  statusOf(seq: number): { state: 'ready' | 'held'; deliveryCount: number } {
    if (seq >= this.#cursor) return { state: 'ready', deliveryCount: 0 };
    const back = this.#returned.find((delivery) => delivery.seq === seq);
    if (back !== undefined) return { state: 'ready', deliveryCount: back.deliveryCount };
    return { state: 'held', deliveryCount: this.#redelivered.get(seq) ?? 1 };
  }

  /** All live messages of a nonpersistent shard, in order: those handed out, then the window. */
  get liveRuns(): CachedRun[] {
    const window = this.#window.slice(this.#head);
    const windowStart = window[0]?.firstSeq ?? Number.POSITIVE_INFINITY;
    const handedOut = [...this.#handedOut.values()]
      .filter((delivery) => delivery.seq < windowStart)
      .sort((a, b) => a.seq - b.seq)
      .map(({ seq, source, start }) => {
        return { firstSeq: seq, count: 1, buffer: source, start, end: recordEnd(source, start) };
      });
    return [...handedOut, ...window];
  }

  /** Numbers of a failed group will never be messages. */
  skip(start: number, end: number): void {
    this.consumption.add(start, end);
    this.gaps += end - start;
    if (this.#windowEnd === this.committedEnd) this.#windowEnd = end;
    this.committedEnd = end;
  }

  /** The queue was dropped: frees what it has in the cache. */
  dispose(): void {
    this.#cache.remove(this.#windowBytes);
    this.#windowBytes = 0;
    this.#window.length = 0;
    this.#head = 0;
    this.#returned.length = 0;
    this.#redelivered.clear();
    this.#handedOut.clear();
  }
}
