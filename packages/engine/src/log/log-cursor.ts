/**
 * The position of one subscriber in one log: which messages it is delivered next, holds, and has finished. A queue has one
 * cursor per log, subscriber 0; a topic has one per subscriber, all over the same messages.
 *
 * First deliveries follow the sequence strictly (invariant 4): the window moves over cached records in order, and messages
 * that are returned (rollback, release, expired hold) are delivered again before it moves on.
 */
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { MessageEventKind } from '../api/message-event-kinds.ts';
import {
  Consumption,
  countBeforeRanges,
  mergeRanges,
  type SeqRange,
  splitRanges,
} from '../model/consumption.ts';
import type { AttemptRow } from '../model/delivery-attempt.ts';
import type { EvacuatedKey, EvacuatedRow } from '../model/evacuated-message.ts';
import type { GroupNumber, Seq, SubscriberId } from '../model/ids.ts';
import { isAddressedTo } from '../model/inspect-record.ts';
import { InvariantViolation } from '../model/invariant.ts';
import { type MessageCommand, type MessageState, messageLife } from '../model/message-life.ts';
import { readEnqueuedAtMs, recordEnd } from '../model/message-record.ts';
import { CursorDeliveries, type DeliverRunOptions } from './cursor-deliveries.ts';
import type { CursorLog, CursorStart } from './cursor-log.ts';
import { type DeliveryRun, recoveredDelivery, unreadDelivery } from './delivery-run.ts';
import { EarlierAttempts } from './earlier-attempts.ts';
import { type CachedRun, CursorWindow } from './message-cache.ts';

export interface CursorDelivery<Log extends CursorLog> extends DeliveryRun {
  readonly cursor: LogCursor<Log>;
}

export type CursorDeliverOptions<Log extends CursorLog> = DeliverRunOptions<CursorDelivery<Log>>;

/** Blocks first deliveries while earlier messages are on another instance. */
export interface CursorGate<Log extends CursorLog> {
  canDeliver(cursor: LogCursor<Log>): boolean;
}

export class LogCursor<Log extends CursorLog> {
  readonly log: Log;
  readonly subscriber: SubscriberId;
  readonly durable: boolean;
  readonly consumption: Consumption;
  /** The unsettled deliveries. */
  readonly deliveries: CursorDeliveries<CursorDelivery<Log>>;
  /** Messages that durable commits consumed since the instance opened. */
  dequeued = 0;
  /** First deliveries: of messages cached since their commit, and of messages read back from a partition. */
  cacheHits = 0;
  cacheMisses = 0;
  /** Committed messages that did not fit the cache. */
  cacheEvictions = 0;
  /** Live messages that were copied out of their partition. `consumption` has them as terminal. */
  readonly evacuated = new Set<Seq>();
  /** The subscriber was removed: nothing more is delivered to it or consumed by it. */
  removed = false;
  /** Set once messages of the shard were forwarded. */
  deliveryGate: CursorGate<Log> | undefined;
  /** Lower numbers are not for this subscriber. */
  readonly firstSeq: Seq;
  readonly name: string | undefined;
  readonly #window: CursorWindow;
  /**
   * End of what consumers of this instance received. Undefined until the first message is forwarded: before, it equals the
   * position.
   */
  #deliveredHereEndSeq: Seq | undefined;
  /** Undefined while there are no earlier attempts. */
  #earlierAttempts: EarlierAttempts | undefined;
  /** Below it the cursor checks for messages that were terminal at recovery. */
  readonly #recoveredEndSeq: Seq;
  #recoveredTerminal: readonly SeqRange[] | undefined;

  constructor({ log, subscriber, name, durable, firstSeq, recoveredEndSeq }: CursorStart<Log>) {
    this.log = log;
    this.subscriber = subscriber;
    this.name = name;
    this.durable = durable;
    this.consumption = new Consumption(firstSeq);
    this.firstSeq = firstSeq;
    this.#window = new CursorWindow(log, firstSeq);
    this.deliveries = new CursorDeliveries(log, subscriber);
    this.#recoveredEndSeq = recoveredEndSeq;
  }

  /** Number of messages committed and not terminal for it, held ones included. */
  get backlog(): number {
    // A new subscriber starts after the groups in flight, so its first number may not be committed yet.
    return (
      Math.max(0, this.log.committedEndSeq - this.firstSeq) -
      this.consumption.terminalCountFrom(this.firstSeq) +
      this.evacuated.size
    );
  }

  /** Number of held messages. */
  get held(): number {
    return this.deliveries.held;
  }

  /** Number of returned messages that wait for their retry delay. */
  get paused(): number {
    return this.deliveries.paused;
  }

  /** Number of messages that can be delivered, for the first time or again. */
  get ready(): number {
    return this.backlog - this.held - this.paused;
  }

  /** Enqueue time of the message that is delivered next, epoch ms; undefined if it is not in memory. */
  get oldestReadyAtMs(): number | undefined {
    const returned = this.deliveries.nextReturned;
    if (returned !== undefined) return readEnqueuedAtMs(returned.run.buffer, returned.start);
    return this.#window.nextEnqueuedAtMs;
  }

  /** Takes over what the file has: terminal ranges, and how often live messages were delivered. Both in any order. */
  recover(terminal: readonly SeqRange[], attempts: readonly AttemptRow[]): void {
    for (const { seq, attempts: count } of attempts) this.recordEarlierAttempts(seq, count);
    for (const [start, end] of mergeRanges(terminal)) {
      const from = Math.max(start, this.firstSeq);
      if (from < end) this.#markTerminal(from, end);
    }
  }

  /** Messages below `endSeq` may have been delivered before the instance opened. Call it before `recoverEvacuated`. */
  recoverDelivered(endSeq: Seq): void {
    this.#earlierAttempts ??= new EarlierAttempts();
    this.#earlierAttempts.recoverDelivered(endSeq);
  }

  /** Takes over evacuated messages of the file. All of them were delivered long ago, so they are delivered first. */
  recoverEvacuated(rows: readonly EvacuatedRow[]): void {
    const deliveries = rows.map((row) => {
      const attempts = Math.max(row.attempts, this.#earlierAttempts?.of(row.seq) ?? 0);
      return { cursor: this, ...recoveredDelivery({ ...row, attempts }, this.stateOf(row.seq)) };
    });
    this.deliveries.recover(deliveries);
    for (const { seq } of rows) this.evacuated.add(seq);
  }

  /** Adds a committed run to the window if that reaches up to it and the cache is not full. */
  append(run: CachedRun): void {
    const left = this.#window.append(run);
    this.cacheEvictions += left;
    if (this.log.traces(run.firstSeq, run.count)) this.#trace(left > 0 ? 'left-on-disk' : 'cached', run);
  }

  #trace(event: MessageEventKind, { firstSeq, count }: Pick<CachedRun, 'firstSeq' | 'count'>): void {
    this.log.trace?.record(event, firstSeq, count, { subscriber: this.subscriber });
  }

  /** The number from which to read the partitions, or undefined if no read is due. */
  nextReadSeq(): Seq | undefined {
    if (this.log.dropped || this.removed) return undefined;
    return this.#window.nextReadSeq(this.consumption.watermark);
  }

  /** Whether messages must be read before anything new can be delivered, and their partition is not damaged. */
  get needsRead(): boolean {
    if (!this.#window.isEmpty) return false;
    const fromSeq = this.nextReadSeq();
    return fromSeq !== undefined && !this.log.partitions.partitionOf(fromSeq).damaged;
  }

  /** Adds the runs of a bulk read; numbers below `readEnd` that are not among them will never be messages. */
  addReadRuns(runs: readonly CachedRun[], readEnd: Seq): void {
    if (this.log.dropped || this.removed) return;
    for (const run of runs) if (this.log.traces(run.firstSeq, run.count)) this.log.trace?.read(run, this);
    this.#window.addReadRuns(runs, readEnd);
  }

  /** Delivers up to `max` messages; returns how many. */
  deliver(options: CursorDeliverOptions<Log>): number {
    if (this.deliveryGate !== undefined && !this.deliveryGate.canDeliver(this)) return 0;
    const previousLength = options.out.length;
    const taken = this.#take(options);
    if (this.#deliveredHereEndSeq !== undefined) {
      for (const { firstSeq, count } of options.out.slice(previousLength))
        this.#deliveredHereEndSeq = Math.max(this.#deliveredHereEndSeq, firstSeq + count);
    }
    return taken;
  }

  /** Delivers to another instance, past the gate. `cancelDelivery` undoes it. */
  takeForForwarding(options: CursorDeliverOptions<Log>): number {
    this.#deliveredHereEndSeq ??= this.#window.nextSeq;
    return this.#take(options);
  }

  #take(options: CursorDeliverOptions<Log>): number {
    if (this.log.dropped || this.removed) return 0;
    const redelivered = this.deliveries.redeliver(options);
    return redelivered + this.#deliverNew(options, options.max - redelivered);
  }

  #deliverNew({ session, nextHoldNumber, out }: CursorDeliverOptions<Log>, max: number): number {
    let taken = 0;
    while (taken < max) {
      const { currentRun } = this.#window;
      if (currentRun === undefined) break;
      const { nextSeq: firstSeq, nextOffset: start } = this.#window;
      const count = this.#deliverableCount(currentRun, max - taken);
      if (count === 0) {
        this.#window.advance(currentRun, 1);
        continue;
      }
      this.#assertReady(firstSeq, count, 'deliver');
      const end = this.#window.advance(currentRun, count);
      const delivery: CursorDelivery<Log> = {
        cursor: this,
        firstSeq,
        count,
        run: currentRun,
        start,
        end,
        deliveryCount: 1 + (this.#earlierAttempts?.take(firstSeq) ?? 0),
        holdNumber: nextHoldNumber(),
        state: 'ready',
      };
      this.deliveries.hold(delivery, session);
      out.push(delivery);
      if (currentRun.fromDisk) this.cacheMisses += count;
      else this.cacheHits += count;
      taken += count;
    }
    return taken;
  }

  /** Messages at the position are ready if they are committed and not terminal. Looks the command up once for all of them. */
  #assertReady(seq: Seq, count: number, command: Extract<MessageCommand, 'deliver' | 'passOver'>): void {
    const isReady = seq >= this.consumption.watermark && seq + count <= this.log.committedEndSeq;
    if (!isReady || messageLife.transitions.ready[command] === undefined) this.#reject(seq, command);
  }

  /** How many messages from the position on can be delivered together, up to `max`; 0 if the first must be skipped. */
  #deliverableCount(run: CachedRun, max: number): number {
    const { nextSeq, nextOffset } = this.#window;
    let count = Math.min(max, run.firstSeq + run.count - nextSeq);
    if (nextSeq < this.#recoveredEndSeq) count = this.#countUntilTerminal(count);
    if (this.#earlierAttempts !== undefined) count = this.#earlierAttempts.countAlike(nextSeq, count);
    if (this.name === undefined) return count;
    let offset = nextOffset;
    for (let i = 0; i < count; i += 1) {
      if (!this.isRecipient(run.buffer, offset)) {
        if (i === 0) this.#passOver(run);
        return i;
      }
      offset = recordEnd(run.buffer, offset);
    }
    return count;
  }

  /** Whether the message of a record is addressed to this subscriber. */
  isRecipient(buffer: Buffer, start: number): boolean {
    return this.name === undefined || isAddressedTo(buffer, start, this.name);
  }

  /** Skips the next message, which is addressed to others. Nothing is stored, as its record shows that again. */
  #passOver(run: CachedRun): void {
    const seq = this.#window.nextSeq;
    this.#assertReady(seq, 1, 'passOver');
    this.#markTerminal(seq, seq + 1);
    if (this.log.traces(seq, 1)) this.#trace('passed-over', { firstSeq: seq, count: 1 });
    if (!this.log.persistent) this.log.releaseCached(run, 1);
    this.log.onNotForSubscriber?.(seq);
  }

  /** How many messages from the position on were not terminal at recovery, up to `max`. */
  #countUntilTerminal(max: number): number {
    this.#recoveredTerminal ??= this.consumption.ranges();
    const seq = this.#window.nextSeq;
    if (seq < this.consumption.watermark) return 0;
    return countBeforeRanges(this.#recoveredTerminal, seq, max);
  }

  /** Sets how often a message that is about to be committed was delivered on other instances. */
  recordEarlierAttempts(seq: Seq, attempts: number): void {
    this.#earlierAttempts ??= new EarlierAttempts();
    this.#earlierAttempts.set(seq, attempts);
  }

  /**
   * Holds messages that were forwarded before the instance opened, without reading their records. Nothing may have been
   * delivered since.
   */
  holdUnread(firstSeq: Seq, count: number): CursorDelivery<Log> {
    const end = firstSeq + count;
    if (this.#recoveredTerminal !== undefined || end > this.#recoveredEndSeq)
      this.#reject(firstSeq, 'holdUnread');
    const delivery = { cursor: this, ...unreadDelivery(firstSeq, count, this.stateOf(firstSeq)) };
    this.deliveries.holdUnread(delivery);
    return delivery;
  }

  /**
   * Applies a durable group that consumed held deliveries; `ranges` are the same messages as merged ranges. `groupNumber`: 0 if it
   * was none.
   */
  consume(
    deliveries: readonly CursorDelivery<Log>[],
    ranges: readonly SeqRange[],
    groupNumber: GroupNumber = 0,
  ): void {
    if (this.removed) return;
    let messages = 0;
    for (const [start, end] of ranges) messages += end - start;
    this.dequeued += messages;
    const memoryOnly = this.deliveries.consume(deliveries, messages, groupNumber);
    const { inPartitions, evacuated } = this.splitEvacuated(ranges);
    for (const [start, end] of inPartitions) this.#markTerminal(start, end);
    for (const { seq } of evacuated) this.evacuated.delete(seq);
    for (const { run, count } of memoryOnly) this.log.releaseCached(run, count);
  }

  /**
   * Number of the message that is delivered next if none was returned: all below it were delivered or are addressed to others.
   */
  get position(): Seq {
    return this.#window.nextSeq;
  }

  /** Whether the message is not terminal for this subscriber. */
  isLive(seq: Seq): boolean {
    return this.evacuated.has(seq) || this.consumption.terminalCountBetween(seq, seq + 1) === 0;
  }

  /** State of a message in its life. O(unsettled deliveries): for assertions and tests. */
  stateOf(seq: Seq): MessageState {
    if (!this.isLive(seq)) return 'terminal';
    if (seq >= this.log.committedEndSeq) return 'uncommitted';
    const isDelivered = seq < this.#window.nextSeq || this.evacuated.has(seq);
    if (isDelivered) return this.deliveries.stateOf(seq);
    return this.deliveries.isHeldUnread(seq) ? 'held' : 'ready';
  }

  /** All messages from this number on were never delivered. */
  get deliveredEndSeq(): Seq {
    const here = this.#deliveredHereEndSeq ?? this.#window.nextSeq;
    return Math.max(here, this.#earlierAttempts?.deliveredEndSeq ?? 0);
  }

  canEvacuate(count: number): boolean {
    return this.evacuated.size + count <= limits.evacuatedPerCursorMax;
  }

  /** The commit that copies these live messages out of their partition is durable. */
  markEvacuated(ranges: readonly SeqRange[]): void {
    if (this.removed) return;
    for (const [start, end] of ranges) {
      for (const state of this.#statesBetween(start, end))
        if (messageLife.transitions[state].evacuate === undefined) this.#reject(start, 'evacuate', state);
      for (let seq = start; seq < end; seq += 1) this.evacuated.add(seq);
      this.#markTerminal(start, end);
      if (this.log.traces(start, end - start))
        this.#trace('evacuated', { firstSeq: start, count: end - start });
    }
  }

  /** The states of a range of messages, of which nearly all were delivered. O(unsettled deliveries). */
  #statesBetween(start: Seq, end: Seq): Set<MessageState> {
    const deliveredEnd = Math.max(start, Math.min(end, this.position));
    const states = this.deliveries.statesBetween(start, deliveredEnd);
    if (this.consumption.terminalCountBetween(start, end) > 0) states.add('terminal');
    for (let seq = deliveredEnd; seq < end; seq += 1) states.add(this.stateOf(seq));
    return states;
  }

  /** Separates the evacuated messages of ranges from those that are in their partitions. */
  splitEvacuated(ranges: readonly SeqRange[]): {
    inPartitions: readonly SeqRange[];
    evacuated: EvacuatedKey[];
  } {
    if (this.evacuated.size === 0) return { inPartitions: ranges, evacuated: [] };
    const { log, subscriber } = this;
    const { within, outside } = splitRanges(ranges, this.evacuated);
    const key = { queueId: log.queueId, shard: log.id, subscriber };
    return { inPartitions: outside, evacuated: within.map((seq) => ({ ...key, seq })) };
  }

  /** The numbers of a failed group will never be messages. */
  skipGap(start: Seq, end: Seq): void {
    const from = Math.max(start, this.firstSeq);
    if (from >= end) return;
    this.#markTerminal(from, end);
    this.#window.skipGap(from, end);
  }

  /** State of a live message as `browse` shows it. O(unsettled deliveries). */
  statusOf(seq: Seq): Pick<BrowsedMessage, 'state' | 'deliveryCount' | 'untilMs'> {
    if (seq >= this.#window.nextSeq)
      return { state: 'ready', deliveryCount: this.#earlierAttempts?.of(seq) ?? 0 };
    return this.deliveries.statusOf(seq);
  }

  /** All live messages of a nonpersistent log in order, as runs: those delivered and not settled, then the window. */
  get cachedLiveRuns(): CachedRun[] {
    const window = this.#window.remainingRuns;
    const windowStart = window[0]?.firstSeq ?? Number.POSITIVE_INFINITY;
    const delivered = this.deliveries.memoryOnly
      .filter(({ firstSeq }) => firstSeq < windowStart)
      .sort((a, b) => a.firstSeq - b.firstSeq)
      .map(({ run, firstSeq, count, start, end }) => ({ ...run, firstSeq, count, start, end }));
    return [...delivered, ...window];
  }

  /** Stops the instance if the cursor's counts or positions contradict each other. O(1): checked before and after each group. */
  assertConsistent(): void {
    if (this.removed) return;
    const { held, paused, backlog, firstSeq } = this;
    const { watermark } = this.consumption;
    const committedEnd = Math.max(this.log.committedEndSeq, firstSeq);
    if (held >= 0 && paused >= 0 && held + paused <= backlog && watermark <= committedEnd) return;
    this.log.stopInstance(
      new InvariantViolation(
        `counts of subscriber ${this.subscriber} in log ${this.log.id} contradict each other: backlog ${backlog}, ` +
          `held ${held}, paused ${paused}, watermark ${watermark}, committed up to ${committedEnd}`,
      ),
    );
  }

  /** A range that is terminal already, because a message was consumed twice, stops the instance. */
  #markTerminal(start: Seq, end: Seq): void {
    try {
      this.consumption.add(start, end);
    } catch (error) {
      if (error instanceof InvariantViolation) this.log.stopInstance(error);
      throw error;
    }
  }

  #reject(seq: Seq, command: MessageCommand, state = this.stateOf(seq)): never {
    this.log.stopInstance(
      new InvariantViolation(
        `message ${this.log.id}.${seq} of subscriber ${this.subscriber} is ${state} and cannot ${command}`,
      ),
    );
  }

  /** The subscriber was removed or the queue dropped: releases what the cache has for it. */
  dispose(): void {
    this.removed = true;
    this.#window.dispose();
    for (const { run, count } of this.deliveries.memoryOnly) this.log.releaseCached(run, count);
    this.deliveries.dispose();
    this.evacuated.clear();
  }
}
