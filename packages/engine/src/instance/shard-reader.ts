/**
 * How far one subscriber is in one shard: what it is handed next, what it holds, and what is terminal for it. A queue
 * has one reader a shard, number 0; a topic has one for each subscriber, over the same messages.
 *
 * First deliveries go strictly in order of sequence (invariant 4): a cursor moves over a window of cached records, and
 * messages that come back (rollback, release, expired hold) are handed out again before it moves on.
 */
import { Consumption, mergeRanges, type SeqRange, toRanges } from '../core/consumption.ts';
import { limits } from '../core/limits.ts';
import type { AttemptRow } from '../storage/attempt-table.ts';
import { isFor, readEnqueuedAtMs, recordEnd } from '../storage/message-record.ts';
import type { StragglerKey, StragglerRow } from '../storage/straggler-table.ts';
import type { BrowsedMessage } from '../types.ts';
import type { Delivery, TakeOptions } from './hand-out.ts';
import type { CachedRun } from './message-cache.ts';
import { ReaderHandOuts } from './reader-hand-outs.ts';
import { ReaderWindow } from './reader-window.ts';
import type { Shard } from './shard.ts';

const noBytes = Buffer.alloc(0);

export interface ReaderStart {
  shard: Shard;
  subscriber: number;
  /** A subscriber's name, which messages may name as a recipient; none for the reader of a queue. */
  name: string | undefined;
  /** Whether what it consumed is written down: a nondurable subscriber ends with its instance. */
  durable: boolean;
  firstSeq: number;
  /** Numbers below were there when the instance opened, so some of them may be terminal. */
  recoveredEnd: number;
}

/** Holds messages back while those before them are with another instance. */
export interface DeliveryGate {
  delivers(reader: ShardReader): boolean;
}

export class ShardReader {
  readonly shard: Shard;
  readonly subscriber: number;
  readonly durable: boolean;
  readonly consumption: Consumption;
  /** Messages that its commits consumed since the instance opened. */
  dequeued = 0;
  /** First hand-outs of messages that stayed in the cache since their commit, and of such that were read back. */
  cacheHits = 0;
  cacheMisses = 0;
  /** Messages that were committed and had no place in the cache. */
  cacheEvictions = 0;
  /** Stragglers: live messages whose partition is, or is to be, gone. In `consumption` they are terminal. */
  readonly aside = new Set<number>();
  /** The subscriber is gone: nothing more is handed out to it or consumed by it. */
  removed = false;
  /** Set once messages of the shard were forwarded. */
  gate: DeliveryGate | undefined;
  /** Numbers below are not for it. */
  readonly firstSeq: number;
  readonly name: string | undefined;
  readonly #window: ReaderWindow;
  readonly #handOuts: ReaderHandOuts;
  /** By sequence: how often it was handed out before the instance opened, or elsewhere before it came here. */
  readonly #earlierAttempts = new Map<number, number>();
  /** Until the cursor has passed what was there at recovery, it skips what is terminal. */
  readonly #recoveredEnd: number;
  #recoveredTerminal: readonly SeqRange[] | undefined;

  constructor({ shard, subscriber, name, durable, firstSeq, recoveredEnd }: ReaderStart) {
    this.shard = shard;
    this.subscriber = subscriber;
    this.name = name;
    this.durable = durable;
    this.consumption = new Consumption(firstSeq);
    this.firstSeq = firstSeq;
    this.#window = new ReaderWindow(shard, firstSeq);
    this.#handOuts = new ReaderHandOuts(shard.persistent);
    this.#recoveredEnd = recoveredEnd;
  }

  /** Messages committed and not terminal for it, held ones included. */
  get backlog(): number {
    // A subscriber begins behind the groups that were under way when it came.
    return (
      Math.max(0, this.shard.committedEnd - this.firstSeq) -
      this.consumption.countFrom(this.firstSeq) +
      this.aside.size
    );
  }

  get held(): number {
    return this.#handOuts.held;
  }

  /** Messages that came back and wait for their retry delay. */
  get paused(): number {
    return this.#handOuts.paused;
  }

  get ready(): number {
    return this.backlog - this.held - this.paused;
  }

  /** When its oldest message that is not held was enqueued, epoch ms; undefined if there is none in memory. */
  get oldestReadyAtMs(): number | undefined {
    const back = this.#handOuts.nextReturned;
    if (back !== undefined) return readEnqueuedAtMs(back.run.buffer, back.start);
    return this.#window.enqueuedAtMs;
  }

  /** What the file says is terminal for it, and how often others were handed out; in any order. */
  recover(terminal: readonly SeqRange[], attempts: readonly AttemptRow[]): void {
    for (const { seq, attempts: times } of attempts) this.#earlierAttempts.set(seq, times);
    for (const [start, end] of mergeRanges(terminal)) {
      const from = Math.max(start, this.firstSeq);
      if (from < end) this.consumption.add(from, end);
    }
  }

  /** Takes in a committed run, if its window reaches up to it and the cache has room. */
  append(run: CachedRun): void {
    this.cacheEvictions += this.#window.append(run);
  }

  /** The number to read from the partitions next, or undefined if the window is good for now. */
  nextRead(): number | undefined {
    if (this.shard.dropped || this.removed) return undefined;
    return this.#window.nextRead(this.consumption.watermark);
  }

  /** Messages are there, but not in memory, and nothing keeps them from being read. */
  get mustRead(): boolean {
    if (!this.#window.isEmpty) return false;
    const fromSeq = this.nextRead();
    return fromSeq !== undefined && !this.shard.partitions.find(fromSeq).damaged;
  }

  /** Takes in a bulk read of consecutive runs; `readEnd` is how far the read can vouch for. */
  load(runs: readonly CachedRun[], readEnd: number): void {
    if (!this.shard.dropped && !this.removed) this.#window.load(runs, readEnd);
  }

  /** Hands out up to `max` messages into `out`; returns how many. */
  take(options: TakeOptions): number {
    if (this.gate !== undefined && !this.gate.delivers(this)) return 0;
    return this.takeAway(options);
  }

  /** The same for who delivers them elsewhere: `takeBack` undoes it, as if they had never been handed out. */
  takeAway(options: TakeOptions): number {
    if (this.shard.dropped || this.removed) return 0;
    const again = this.#handOuts.takeReturned(options);
    return again + this.#takeNew(options, options.max - again);
  }

  #takeNew({ nextHoldNo, out }: TakeOptions, max: number): number {
    let taken = 0;
    while (taken < max) {
      const { run } = this.#window;
      if (run === undefined) break;
      const { cursor: firstSeq, cursorAt: start } = this.#window;
      const count = this.#wanted(run, max - taken);
      if (count === 0) {
        this.#window.advance(run, 1);
        continue;
      }
      const end = this.#window.advance(run, count);
      const delivery: Delivery = {
        reader: this,
        firstSeq,
        count,
        run,
        start,
        end,
        deliveryCount: 1 + this.#attemptsBefore(firstSeq),
        holdNo: nextHoldNo(),
      };
      this.#handOuts.hold(delivery);
      out.push(delivery);
      if (run.readBack) this.cacheMisses += count;
      else this.cacheHits += count;
      taken += count;
    }
    return taken;
  }

  /** How many messages from the cursor on are to be handed out together, up to `max`; 0 if the first is not. */
  #wanted(run: CachedRun, max: number): number {
    const { cursor, cursorAt } = this.#window;
    let wanted = Math.min(max, run.firstSeq + run.count - cursor);
    if (cursor < this.#recoveredEnd) wanted = this.#notTerminal(wanted);
    if (this.#earlierAttempts.size > 0) wanted = this.#sameAttempts(wanted);
    if (this.name === undefined) return wanted;
    let at = cursorAt;
    for (let i = 0; i < wanted; i += 1) {
      if (!this.isFor(run.buffer, at)) {
        if (i === 0) this.#skipOne(run);
        return i;
      }
      at = recordEnd(run.buffer, at);
    }
    return wanted;
  }

  /** Whether the message of a record is for this subscriber. */
  isFor(buffer: Buffer, start: number): boolean {
    return this.name === undefined || isFor(buffer, start, this.name);
  }

  /** The message at the cursor names other recipients. That need not be written down: its record tells it again. */
  #skipOne(run: CachedRun): void {
    const seq = this.#window.cursor;
    this.consumption.add(seq, seq + 1);
    if (!this.shard.persistent) this.shard.letGo(run, 1);
    this.shard.onPassed?.(seq);
  }

  /** How many from the cursor on were not terminal at recovery, up to `max`. */
  #notTerminal(max: number): number {
    this.#recoveredTerminal ??= this.consumption.ranges();
    const seq = this.#window.cursor;
    if (seq < this.consumption.watermark) return 0;
    let low = 0;
    let high = this.#recoveredTerminal.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#recoveredTerminal[middle]![1] <= seq) low = middle + 1;
      else high = middle;
    }
    const next = this.#recoveredTerminal[low];
    return next === undefined ? max : Math.max(0, Math.min(max, next[0] - seq));
  }

  /** How many from the cursor on were handed out equally often, up to `max`: one that was goes by itself. */
  #sameAttempts(max: number): number {
    const { cursor } = this.#window;
    if (this.#earlierAttempts.has(cursor)) return Math.min(max, 1);
    for (let i = 1; i < max; i += 1) if (this.#earlierAttempts.has(cursor + i)) return i;
    return max;
  }

  #attemptsBefore(seq: number): number {
    if (this.#earlierAttempts.size === 0) return 0;
    const attempts = this.#earlierAttempts.get(seq) ?? 0;
    this.#earlierAttempts.delete(seq);
    return attempts;
  }

  /** A message that is about to be committed was handed out so often before it came here. */
  noteAttempts(seq: number, attempts: number): void {
    this.#earlierAttempts.set(seq, attempts);
  }

  /** From now on each message of a hand-out is held, and ends, by itself. */
  holdSingly(delivery: Delivery): Delivery[] {
    return this.#handOuts.holdSingly(delivery);
  }

  /** Hand-outs that nobody saw, or that were taken away and are here after all: they are none, and count as none. */
  takeBack(deliveries: readonly Delivery[]): void {
    if (!this.removed) this.#handOuts.takeBack(deliveries);
  }

  /** Hand-outs ended without being consumed: these messages are the next to go. */
  giveBack(deliveries: readonly Delivery[]): void {
    if (!this.removed) this.#handOuts.giveBack(deliveries);
  }

  /**
   * Holds messages that were there when the instance opened, and that nobody has looked at since: they moved to another
   * instance before. Their records are not read.
   */
  holdUnseen(firstSeq: number, count: number): Delivery {
    const end = firstSeq + count;
    if (this.#recoveredTerminal !== undefined || end > this.#recoveredEnd)
      throw new RangeError(`messages from ${firstSeq} on may have been handed out`);
    const run = { firstSeq, count, buffer: noBytes, start: 0, end: 0, readBack: true, kept: 0 };
    const delivery: Delivery = {
      reader: this,
      firstSeq,
      count,
      run,
      start: 0,
      end: 0,
      deliveryCount: 1,
      holdNo: 0,
    };
    this.#handOuts.holdUnseen(delivery);
    return delivery;
  }

  /** A hand-out ended, but its messages wait for a time before `resume` and `giveBack`. */
  pause(delivery: Delivery, untilMs: number): void {
    if (!this.removed) this.#handOuts.pause(delivery, untilMs);
  }

  resume(delivery: Delivery): void {
    this.#handOuts.resume(delivery);
  }

  /** The commit that consumes these, which it holds, is durable; `ranges` are the same as merged ranges. */
  consume(deliveries: readonly Delivery[], ranges: readonly SeqRange[]): void {
    if (this.removed) return;
    let messages = 0;
    for (const [start, end] of ranges) messages += end - start;
    this.dequeued += messages;
    const { plain, stragglers } = this.apart(ranges);
    for (const [start, end] of plain) this.consumption.add(start, end);
    for (const { seq } of stragglers) this.aside.delete(seq);
    for (const { run, count } of this.#handOuts.consumed(deliveries, messages)) this.shard.letGo(run, count);
  }

  /** Number of the message that is handed out first when none comes back. */
  get position(): number {
    return this.#window.cursor;
  }

  /** Whether it still is to get the message, or holds it. */
  isLive(seq: number): boolean {
    return this.aside.has(seq) || this.consumption.countBetween(seq, seq + 1) === 0;
  }

  /** Whether all numbers below `end` were handed out, or are not for it. */
  hasPassed(end: number): boolean {
    return this.#window.cursor >= end;
  }

  hasRoomAside(count: number): boolean {
    return this.aside.size + count <= limits.stragglersMax;
  }

  /** These are stragglers now: their partition may go. */
  setAside(ranges: readonly SeqRange[]): void {
    if (this.removed) return;
    for (const [start, end] of ranges) {
      this.consumption.add(start, end);
      for (let seq = start; seq < end; seq += 1) this.aside.add(seq);
    }
  }

  /** Ranges with the stragglers among them taken out. */
  apart(ranges: readonly SeqRange[]): { plain: readonly SeqRange[]; stragglers: StragglerKey[] } {
    if (this.aside.size === 0) return { plain: ranges, stragglers: [] };
    const plain: number[] = [];
    const stragglers: StragglerKey[] = [];
    const { queueId, no } = this.shard;
    for (const [start, end] of ranges) {
      for (let seq = start; seq < end; seq += 1) {
        if (!this.aside.has(seq)) plain.push(seq);
        else stragglers.push({ queueId, shard: no, subscriber: this.subscriber, seq });
      }
    }
    return { plain: toRanges(plain), stragglers };
  }

  /** Stragglers that the file holds: they came back long ago, so they go first. */
  recoverStragglers(rows: readonly StragglerRow[]): void {
    const deliveries = rows.map(({ seq, attempts, record }): Delivery => {
      this.aside.add(seq);
      const buffer = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
      const place = { firstSeq: seq, count: 1, start: 0, end: buffer.length };
      const run = { ...place, buffer, readBack: true, kept: 0 };
      return { reader: this, ...place, run, deliveryCount: attempts, holdNo: 0 };
    });
    this.#handOuts.returned(deliveries);
  }

  /** Numbers of a failed group will never be messages. */
  skip(start: number, end: number): void {
    const from = Math.max(start, this.firstSeq);
    if (from >= end) return;
    this.consumption.add(from, end);
    this.#window.skip(from, end);
  }

  /** How a live message stands. O(hand-outs that came back): for browsing. */
  statusOf(seq: number): Pick<BrowsedMessage, 'state' | 'deliveryCount' | 'untilMs'> {
    if (seq >= this.#window.cursor) return { state: 'ready', deliveryCount: 0 };
    return this.#handOuts.statusOf(seq);
  }

  /** All live messages of a nonpersistent shard, in order: those handed out, then the window. */
  get liveRuns(): CachedRun[] {
    const window = this.#window.ahead;
    const windowStart = window[0]?.firstSeq ?? Number.POSITIVE_INFINITY;
    const handedOut = this.#handOuts.inMemory
      .filter(({ firstSeq }) => firstSeq < windowStart)
      .sort((a, b) => a.firstSeq - b.firstSeq)
      .map(({ run, firstSeq, count, start, end }) => ({ ...run, firstSeq, count, start, end }));
    return [...handedOut, ...window];
  }

  /** The subscriber or the queue is gone: gives up what it keeps in the cache. */
  dispose(): void {
    this.removed = true;
    this.#window.dispose();
    for (const { run, count } of this.#handOuts.inMemory) this.shard.letGo(run, count);
    this.#handOuts.dispose();
    this.aside.clear();
  }
}
