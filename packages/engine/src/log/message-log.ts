/**
 * An ordered log of messages. It is only appended to and truncated, and cursors read it. A shard is a set of logs: one per
 * priority, and one for each log whose messages were forwarded from another instance.
 *
 * Every number from `firstSeq` up to `committedEndSeq` is a message or a gap, so each append starts where the last one
 * ended. Numbers from there up to `nextSeq` are in groups that are not durable yet.
 */
import type { SeqRange } from '../model/consumption.ts';
import type { LogId, QueueId, Seq, SubscriberId } from '../model/ids.ts';
import { InvariantViolation, stopOn, type ViolationListener } from '../model/invariant.ts';
import { type MessageCommand, messageLife } from '../model/message-life.ts';
import { LogPartitions, type Partition } from '../model/partitions.ts';
import type { CursorLog, CursorStart } from './cursor-log.ts';
import { LogCursor } from './log-cursor.ts';
import { type CommittedGroup, LogTrace, type QueueTrace } from './log-trace.ts';
import type { CachedRun, CacheShare } from './message-cache.ts';

export interface MessageLogOptions {
  queueId: QueueId;
  id: LogId;
  persistent: boolean;
  firstSeq: Seq;
  endSeq: Seq;
  partitionMessagesMax: number;
  retentionMs: number;
  correlationIndexed: boolean;
  trace?: QueueTrace | undefined;
  /** Stops the instance. */
  onInvariantBroken?: ViolationListener | undefined;
}

export class MessageLog implements CursorLog {
  readonly queueId: QueueId;
  readonly id: LogId;
  /** False for a nonpersistent queue: its messages are in the cache only. */
  readonly persistent: boolean;
  /** Its partitions have local indexes on correlation ids. */
  readonly correlationIndexed: boolean;
  readonly partitions: LogPartitions;
  readonly cacheShare: CacheShare;
  readonly trace: LogTrace | undefined;
  /** Number that the next message gets when its group closes. */
  nextSeq: Seq;
  /** Messages with lower numbers are committed. */
  committedEndSeq: Seq;
  /** Its queue was dropped: nothing more is committed to it. */
  dropped = false;
  /** Numbers of failed groups, which will never be messages. */
  gapCount = 0;
  /** Bytes of its messages in the message cache. */
  cacheBytes = 0;
  /** Called with the number of a message that a cursor passed over because it is addressed to others. */
  onNotForSubscriber: ((seq: Seq) => void) | undefined;
  /** Called when messages of a nonpersistent log were consumed: there may be room for others. */
  onReleased: (() => void) | undefined;
  readonly firstSeq: Seq;
  readonly #recoveredEndSeq: Seq;
  readonly #cursors = new Map<SubscriberId, LogCursor<MessageLog>>();
  /** Of these; the file knows nothing of what they have consumed. */
  #nondurableCursors = 0;
  readonly #onInvariantBroken: MessageLogOptions['onInvariantBroken'];

  constructor(start: MessageLogOptions, cache: CacheShare) {
    this.queueId = start.queueId;
    this.id = start.id;
    this.persistent = start.persistent;
    this.correlationIndexed = start.correlationIndexed;
    this.firstSeq = start.firstSeq;
    this.partitions = new LogPartitions({
      messagesMax: start.partitionMessagesMax,
      retentionMs: start.retentionMs,
      onInvariantBroken: (violation) => this.#onInvariantBroken?.(violation),
    });
    this.nextSeq = start.endSeq;
    this.committedEndSeq = start.endSeq;
    this.#recoveredEndSeq = start.endSeq;
    this.#onInvariantBroken = start.onInvariantBroken;
    this.cacheShare = cache;
    if (start.trace === undefined) return;
    const trace = new LogTrace(start.trace, this);
    this.trace = trace;
    this.partitions.onRemoved = ({ firstSeq, endSeq }) => {
      if (this.traces(firstSeq, endSeq - firstSeq)) trace.truncated(firstSeq, endSeq);
    };
  }

  /** Whether one of these messages may be traced; never false if one is. It is here, so that others run no code of the trace. */
  traces(firstSeq: Seq, count: number): boolean {
    const { trace } = this;
    // Masked, `-firstSeq` is the distance to the next number that is traced.
    return trace !== undefined && ((-firstSeq & trace.traceMask) < count || trace.namedCount > 0);
  }

  /** The same for messages that were just numbered: `traceNext` may apply to them. */
  tracesNew(firstSeq: Seq, count: number): boolean {
    return this.traces(firstSeq, count) || (this.trace !== undefined && this.trace.queue.pending > 0);
  }

  get cursors(): Iterable<LogCursor<MessageLog>> {
    return this.#cursors.values();
  }

  /** Whether its stored messages may be read after all that the file knows of have consumed them. */
  get keepsConsumed(): boolean {
    return this.partitions.keepsConsumed || this.#nondurableCursors > 0;
  }

  cursorOf(subscriber: SubscriberId): LogCursor<MessageLog> | undefined {
    return this.#cursors.get(subscriber);
  }

  /** Adds a cursor that starts at `firstSeq`; lower numbers are not for it. */
  addCursor(start: Omit<CursorStart<MessageLog>, 'log' | 'recoveredEndSeq'>): LogCursor<MessageLog> {
    const cursor = new LogCursor<MessageLog>({
      ...start,
      log: this,
      firstSeq: Math.max(start.firstSeq, this.firstSeq),
      recoveredEndSeq: this.#recoveredEndSeq,
    });
    this.#cursors.set(start.subscriber, cursor);
    if (!cursor.durable) this.#nondurableCursors += 1;
    return cursor;
  }

  removeCursor(subscriber: SubscriberId): void {
    const cursor = this.#cursors.get(subscriber);
    if (cursor === undefined) return;
    cursor.dispose();
    this.#cursors.delete(subscriber);
    if (!cursor.durable) this.#nondurableCursors -= 1;
  }

  /** All lower numbers are terminal for every cursor; without a cursor, all committed ones are. */
  get watermark(): Seq {
    let lowest = this.committedEndSeq;
    for (const { consumption } of this.#cursors.values()) lowest = Math.min(lowest, consumption.watermark);
    return lowest;
  }

  /** Terminal numbers from `start` up to but excluding `end`, as the cursor with the fewest of them counts. */
  terminalCountBetween(start: Seq, end: Seq): number {
    let fewest = end - start;
    for (const { consumption } of this.#cursors.values()) {
      fewest = Math.min(fewest, consumption.terminalCountBetween(start, end));
    }
    return fewest;
  }

  /** Messages committed since the queue was created; for a nonpersistent queue, since the instance opened. */
  get enqueued(): number {
    return this.committedEndSeq - (this.persistent ? 1 : this.firstSeq) - this.gapCount;
  }

  /** Messages committed and not consumed, held ones included, as the cursor with the most of them counts. */
  get backlog(): number {
    let most = 0;
    for (const cursor of this.#cursors.values()) most = Math.max(most, cursor.backlog);
    return most;
  }

  /** Held messages, summed over all cursors. */
  get held(): number {
    let held = 0;
    for (const cursor of this.#cursors.values()) held += cursor.held;
    return held;
  }

  /** Returned messages that wait for their retry delay, summed over all cursors. */
  get paused(): number {
    let paused = 0;
    for (const cursor of this.#cursors.values()) paused += cursor.paused;
    return paused;
  }

  /** Whether the message is not terminal for at least one cursor. */
  isLive(seq: Seq): boolean {
    for (const cursor of this.#cursors.values()) if (cursor.isLive(seq)) return true;
    return false;
  }

  /** Makes a committed run visible to the cursors. */
  append(run: CachedRun, group?: CommittedGroup): void {
    const end = run.firstSeq + run.count;
    this.#assertCan('commit', run.firstSeq, end);
    this.committedEndSeq = end;
    if (this.traces(run.firstSeq, run.count)) this.trace?.committed(run, group);
    for (const cursor of this.#cursors.values()) cursor.append(run);
  }

  /** The numbers of a failed group, from `start` up to but excluding `end`, will never be messages. */
  skipGap(start: Seq, end: Seq): void {
    this.#assertCan('skipGap', start, end);
    this.gapCount += end - start;
    if (this.traces(start, end - start)) this.trace?.record('lost', start, end - start, {});
    for (const cursor of this.#cursors.values()) cursor.skipGap(start, end);
    this.committedEndSeq = end;
  }

  /**
   * Looks the command up once for all numbers of a range. Those behind the last commit, up to the last one given out, are
   * uncommitted; they leave that state in their order.
   */
  #assertCan(command: Extract<MessageCommand, 'commit' | 'skipGap'>, start: Seq, end: Seq): void {
    const isNext = start === this.committedEndSeq && end <= this.nextSeq;
    if (isNext && messageLife.transitions.uncommitted[command] !== undefined) return;
    this.stopInstance(
      new InvariantViolation(
        `log ${this.id} is committed up to ${this.committedEndSeq} and numbered up to ${this.nextSeq}: ` +
          `the numbers from ${start} to ${end} cannot ${command}`,
      ),
    );
  }

  /**
   * Stops the instance unless the numbers that a group gave out, from `start` up to but excluding `end`, are the last ones and
   * are in a partition. O(1): checked before each group is written.
   */
  assertNumbered([start, end]: SeqRange): void {
    const partitionsEnd = this.persistent ? this.partitions.all.at(-1)?.endSeq : end;
    if (this.committedEndSeq <= start && end === this.nextSeq && partitionsEnd === end) return;
    this.stopInstance(
      new InvariantViolation(
        `log ${this.id} is committed up to ${this.committedEndSeq}, numbered up to ${this.nextSeq} and in partitions up to ` +
          `${partitionsEnd}: a group cannot have the numbers from ${start} to ${end}`,
      ),
    );
  }

  /** Stops the instance if positions or counts contradict each other. O(cursors): checked after recovery and each group. */
  assertConsistent(): void {
    if (this.committedEndSeq > this.nextSeq)
      this.stopInstance(
        new InvariantViolation(
          `log ${this.id} is committed up to ${this.committedEndSeq} but numbered up to ${this.nextSeq}`,
        ),
      );
    for (const cursor of this.#cursors.values()) cursor.assertConsistent();
  }

  /** Starts truncating the full partitions in which all has been terminal for every cursor for as long as the queue keeps it. */
  beginTruncatingDrained(nowMs: number): Partition[] {
    const drained = this.partitions.beginTruncatingDrained(this.watermark, nowMs);
    for (const partition of drained) {
      const end = this.partitions.endSeqOf(partition);
      if (this.terminalCountBetween(partition.firstSeq, end) === end - partition.firstSeq) continue;
      this.stopInstance(
        new InvariantViolation(
          `partition ${partition.id} of log ${this.id} has live messages and would be truncated`,
        ),
      );
    }
    return drained;
  }

  /** Counts `times` uses of a run; its bytes are in the cache until `releaseCached` has ended as many. */
  retainCached(run: CachedRun, times: number): void {
    if (run.retainCount === 0) {
      this.cacheBytes += run.end - run.start;
      this.cacheShare.add(run.end - run.start);
    }
    run.retainCount += times;
  }

  releaseCached(run: CachedRun, times: number): void {
    run.retainCount -= times;
    this.onReleased?.();
    if (run.retainCount > 0) return;
    this.cacheBytes -= run.end - run.start;
    this.cacheShare.remove(run.end - run.start);
  }

  stopInstance(violation: InvariantViolation): never {
    stopOn(violation, this.#onInvariantBroken);
  }

  /** The queue was dropped: releases its messages from the cache. */
  dispose(): void {
    for (const subscriber of [...this.#cursors.keys()]) this.removeCursor(subscriber);
  }
}
