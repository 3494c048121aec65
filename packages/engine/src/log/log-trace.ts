/**
 * Chooses the traced messages of one log and records their events. One message in `traceEvery` is chosen, by the sequence number
 * in its id, so every part of the engine, and every instance that the message is forwarded to, makes the same choice
 * independently. In most logs that number is also the message's number in the log. Messages whose id has another number (delayed,
 * forwarded, moved to an exception queue) are traced by name, as are those that a user requested.
 */
import { limits } from '../api/limits.ts';
import type { MessageEventKind } from '../api/message-event-kinds.ts';
import type { DelayedRow } from '../model/delayed-message.ts';
import type { GroupNumber, LogId, QueueId, Seq, SessionNumber, SubscriberId } from '../model/ids.ts';
import { readName } from '../model/inspect-record.ts';
import { delayedLogId, originalLogId, owningInstance } from '../model/log-id.ts';
import type { MessageCommand } from '../model/message-life.ts';
import { bufferOf, readEnqueuedAtMs, recordEnd } from '../model/message-record.ts';
import type { LogPartitions } from '../model/partitions.ts';
import { eventOfCommand, type MessageName } from '../model/trace-events.ts';
import type { TraceDetails, TraceRing } from '../model/trace-ring.ts';
import type { DeliveryRun } from './delivery-run.ts';
import type { CachedRun } from './message-cache.ts';

/** The trace of one queue on one instance. */
export class QueueTrace {
  readonly ring: TraceRing;
  /** How many of the next messages are traced because of `traceNext`. */
  pending = 0;

  constructor(ring: TraceRing) {
    this.ring = ring;
  }
}

/** The group commit that made messages durable. */
export interface CommittedGroup {
  groupNumber: GroupNumber;
  /** Other transactions and writes in the group. */
  others: number;
  /** Time of the group's write and sync, milliseconds. */
  writeMs: number;
}

export interface TracedLog {
  readonly id: LogId;
  readonly queueId: QueueId;
  readonly persistent: boolean;
  readonly partitions: LogPartitions;
  /** Whether the message is not terminal for at least one cursor. */
  isLive(seq: Seq): boolean;
}

/** The cursor that messages are read for. */
export interface TracedReader {
  readonly subscriber: SubscriberId;
  readonly position: Seq;
  isLive(seq: Seq): boolean;
}

/** Mask for a log that chooses no numbers: it matches one in 2³¹, for which `LogTrace.record` then finds nothing to do. */
const maskOfNone = 2 ** 31 - 1;

export class LogTrace {
  readonly queue: QueueTrace;
  /** A sequence number with none of these bits is traced. */
  readonly traceMask: number;
  /** Number of messages that are traced by name, or not traced in spite of their number. */
  namedCount = 0;
  readonly #log: TracedLog;
  readonly #traceEvery: number;
  /**
   * Names by sequence number in this log. Undefined: the message is not traced, although its number in this log would be chosen,
   * because the number in its id is not.
   */
  readonly #named = new Map<Seq, MessageName | undefined>();

  constructor(queue: QueueTrace, log: TracedLog) {
    const { instance, traceEvery } = queue.ring;
    this.queue = queue;
    this.#log = log;
    const isOwn = owningInstance(log.id) === instance && originalLogId(log.id) === log.id;
    this.#traceEvery = isOwn ? traceEvery : 0;
    this.traceMask = this.#traceEvery === 0 ? maskOfNone : this.#traceEvery - 1;
  }

  /**
   * Records a change of state. `detail` is the session of `deliver`, the group of `consume`, or the end of `pause` in epoch ms; 0 if
   * there is none.
   */
  apply(
    command: MessageCommand,
    { firstSeq, count, deliveryCount }: DeliveryRun,
    subscriber: SubscriberId,
    detail: number,
  ): void {
    const details: TraceDetails = { subscriber, attempt: deliveryCount };
    if (command === 'deliver') details.session = detail;
    else if (command === 'consume') details.group = detail;
    else if (command === 'pause') details.amount = detail;
    this.record(eventOfCommand[command], firstSeq, count, details);
  }

  /** `group` is undefined for messages with immediate visibility, which no group commits. */
  committed({ firstSeq, count }: CachedRun, group: CommittedGroup | undefined): void {
    const { groupNumber, others, writeMs } = group ?? {};
    this.record('committed', firstSeq, count, { group: groupNumber, others, amount: writeMs });
  }

  /** Records an event of the traced messages among the `count` messages from `firstSeq` on. */
  record(event: MessageEventKind, firstSeq: Seq, count: number, details: TraceDetails): void {
    const end = firstSeq + count;
    const every = this.#traceEvery;
    if (every > 0)
      for (let seq = Math.ceil(firstSeq / every) * every; seq < end; seq += every)
        this.#push(event, seq, details);
    if (this.#named.size === 0) return;
    for (const seq of this.#namedSeqs(firstSeq, count))
      if (!this.#isChosen(seq)) this.#push(event, seq, details);
  }

  #push(event: MessageEventKind, seq: Seq, details: TraceDetails): void {
    const name = this.#nameOf(seq);
    if (name === undefined) return;
    const { id: logId, queueId: queue, partitions, persistent } = this.#log;
    const partition = (persistent ? partitions.findPartition(seq)?.id : undefined) ?? 0;
    this.queue.ring.push(event, { queue, name, logId, seq, partition }, details);
  }

  /** Named numbers of a range. Looks up each number, or compares each name with the bounds, whichever is less. */
  *#namedSeqs(firstSeq: Seq, count: number): Generator<Seq> {
    const end = firstSeq + count;
    if (count > this.#named.size) {
      for (const seq of this.#named.keys()) if (firstSeq <= seq && seq < end) yield seq;
    } else for (let seq = firstSeq; seq < end; seq += 1) if (this.#named.has(seq)) yield seq;
  }

  /**
   * Records that messages were read back for a cursor. A block may begin with some that it has passed, or that are terminal.
   */
  read({ buffer, firstSeq, count, start }: CachedRun, reader: TracedReader): void {
    const { subscriber } = reader;
    let at = start;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1, at = recordEnd(buffer, at)) {
      const mayBeTraced = this.#isChosen(seq) || this.namedCount > 0;
      if (!mayBeTraced || seq < reader.position || !reader.isLive(seq)) continue;
      this.name(seq, buffer, at);
      this.record('read', seq, 1, { subscriber });
    }
  }

  /** Notes the id of a record that brings one from elsewhere: that id decides whether the message is traced, not `seq`. */
  name(seq: Seq, source: Buffer, start: number): void {
    const name = readName(source, start);
    if (name === undefined) return;
    const { queueId } = this.#log;
    if (this.queue.ring.traces(queueId, name)) this.#setName(seq, name);
    else if (this.#isChosen(seq)) this.#setName(seq, undefined);
  }

  /** Traces a message at a user's request. */
  request(seq: Seq): void {
    const name = this.#nameOf(seq) ?? { logId: this.#log.id, seq };
    this.#setName(seq, name);
    this.queue.ring.request(this.#log.queueId, name);
  }

  /** Records that a delayed message was stored. It is in no log before it is due. */
  delayed(
    { delayedId, record }: DelayedRow,
    { session, untilMs }: { session: SessionNumber; untilMs: number },
  ): void {
    const { queueId, id } = this.#log;
    const { ring } = this.queue;
    const name = { logId: delayedLogId(id), seq: delayedId };
    if (this.queue.pending > 0) {
      this.queue.pending -= 1;
      ring.request(queueId, name);
    }
    if (!ring.traces(queueId, name)) return;
    const { clock } = ring;
    const enqueuedAtMs = readEnqueuedAtMs(bufferOf(record), 0);
    const atMs = clock.monotonicMs() - Math.max(0, clock.epochMs() - enqueuedAtMs);
    this.#recordDelayed('enqueued', name, { session, atMs });
    this.#recordDelayed('delayed', name, { amount: untilMs });
  }

  /** Records that a delayed message is due: it gets its number in this log next. */
  due(delayedId: Seq): void {
    const name = { logId: delayedLogId(this.#log.id), seq: delayedId };
    if (this.queue.ring.traces(this.#log.queueId, name)) this.#recordDelayed('due', name, {});
  }

  #recordDelayed(event: MessageEventKind, name: MessageName, details: TraceDetails): void {
    const place = { queue: this.#log.queueId, name, ...name, partition: 0 };
    this.queue.ring.push(event, place, details);
  }

  /** Records that the partition of these messages was truncated, and forgets the names of those that are terminal. */
  truncated(firstSeq: Seq, endSeq: Seq): void {
    this.record('truncated', firstSeq, endSeq - firstSeq, {});
    for (const seq of this.#named.keys())
      if (firstSeq <= seq && seq < endSeq && !this.#log.isLive(seq)) this.#named.delete(seq);
    this.namedCount = this.#named.size;
  }

  #setName(seq: Seq, name: MessageName | undefined): void {
    this.#named.set(seq, name);
    for (const oldest of this.#named.keys()) {
      if (this.#named.size <= limits.tracesRequestedMax) break;
      this.#named.delete(oldest);
    }
    this.namedCount = this.#named.size;
  }

  #nameOf(seq: Seq): MessageName | undefined {
    if (this.#named.size > 0 && this.#named.has(seq)) return this.#named.get(seq);
    return this.#isChosen(seq) ? { logId: this.#log.id, seq } : undefined;
  }

  #isChosen(seq: Seq): boolean {
    return this.#traceEvery > 0 && seq % this.#traceEvery === 0;
  }
}
