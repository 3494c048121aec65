/** The trace of an instance as users see it: with ids, names and wall-clock times, and where a message is now. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type {
  MessageEvent,
  MessageTrace,
  SubscriberWhereabouts,
  TracedMessage,
  TraceRecorderInfo,
} from '../api/message-trace.ts';
import { isDeliveryOf } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { groupsPerEpoch } from '../model/group-number.ts';
import type { InstanceId, LogId, Seq, SessionNumber } from '../model/ids.ts';
import { delayedLogId, isDelayedLog, owningInstance } from '../model/log-id.ts';
import { type MessageName, parseMessageId } from '../model/trace-events.ts';
import type { TraceEntry } from '../model/trace-ring.ts';
import { type WhereaboutsSources, whereaboutsOf } from '../monitoring/whereabouts.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import type { ShardedParts } from './assemble-sharded.ts';
import type { InstanceSession } from './instance-session.ts';
import type { ServedQueues } from './served-queues.ts';

/** Pages of delayed messages that are searched for one: at most 8 MB. */
const delayedPagesMax = 4;
/** A wall clock that has moved by more than this against the monotonic clock was set, milliseconds. */
const clockSetMsMin = 100;
/** Maximum number of subscribers for which the whereabouts of a topic's message are reported. */
const subscribersMax = 100;

export interface InstanceTracesOptions {
  instance: InstanceId;
  queues: ServedQueues;
  sharded: ShardedParts;
  /** The open ones, each with its number. */
  sessions: Iterable<readonly [SessionNumber, InstanceSession]>;
}

export class InstanceTraces {
  readonly #options: InstanceTracesOptions;
  /** Wall-clock time when the monotonic clock was 0. */
  #originMs = 0;

  constructor(options: InstanceTracesOptions) {
    this.#options = options;
  }

  /** Throws `QUEUE_NOT_FOUND`, `FEATURE_UNSUPPORTED`, `OPTIONS_INVALID`. */
  async find(queueName: string, id: string): Promise<MessageTrace> {
    const queue = this.#queueOf(queueName);
    const name = parseMessageId(id);
    if (name === undefined)
      throw new QueueError('OPTIONS_INVALID', {
        message: `${id} is not the id of a message of ${queueName}`,
      });
    const { traceRing } = this.#options.sharded;
    const entries = traceRing.find(queue.row.queueId, name);
    const events = entries.map((entry) => this.#toEvent(queue, entry));
    const [first] = events;
    return {
      queue: queueName,
      id,
      events,
      coverage: first === undefined ? 'none' : first.event === 'enqueued' ? 'complete' : 'partial',
      whereabouts: await this.#whereabouts(queue, name, entries),
      recorders: [this.#recorderOf(queue)],
    };
  }

  /** Throws `QUEUE_NOT_FOUND`, `FEATURE_UNSUPPORTED`, `OPTIONS_INVALID`. */
  latest(queueName: string, limit: number): TracedMessage[] {
    assertCount('limit', limit, limits.tracedMessagesMax);
    const queue = this.#queueOf(queueName);
    const { instance, sharded } = this.#options;
    return sharded.traceRing.latest(queue.row.queueId, limit).map((entry) => ({
      id: idOf(entry.name),
      instance,
      event: entry.event,
      atMs: this.#epochMsOf(entry.atMs),
    }));
  }

  /** Throws `QUEUE_NOT_FOUND`, `FEATURE_UNSUPPORTED`, `OPTIONS_INVALID`. */
  traceNext(queueName: string, count: number): void {
    assertCount('count', count, limits.tracesPendingMax);
    this.#queueOf(queueName).trace!.pending = count;
  }

  #queueOf(name: string): ShardedQueue {
    const { queues, sharded } = this.#options;
    const { row } = queues.findQueue(name);
    if (row.kind === 'sharded') return sharded.queues.getOrCreate(row);
    throw new QueueError('FEATURE_UNSUPPORTED', {
      message: `${name} is unsharded: only messages of sharded queues are traced`,
    });
  }

  #recorderOf({ trace }: ShardedQueue): TraceRecorderInfo {
    const { instance, traceEvery, eventsMax, recorded, overwritten } = this.#options.sharded.traceRing;
    const events = recorded - overwritten;
    return { instance, traceEvery, eventsMax, events, overwritten, pending: trace!.pending };
  }

  /**
   * An event has the same time in every answer, unless the wall clock was set. Computed anew from the wall clock, which has whole
   * milliseconds, it would vary.
   */
  #epochMsOf(monotonicMs: number): number {
    const { clock } = this.#options.sharded.traceRing;
    const originMs = clock.epochMs() - clock.monotonicMs();
    if (Math.abs(originMs - this.#originMs) > clockSetMsMin) this.#originMs = originMs;
    return this.#originMs + monotonicMs;
  }

  #toEvent(queue: ShardedQueue, entry: TraceEntry): MessageEvent {
    const {
      event,
      logId: shard,
      seq,
      partition,
      subscriber,
      session,
      attempt,
      group,
      others,
      amount,
    } = entry;
    const { instance } = this.#options;
    const isTopic = queue.row.type === 'topic' && subscriber > 0;
    const name = isTopic
      ? ([...queue.subscriptions].find(({ id }) => id === subscriber)?.name ?? null)
      : null;
    return {
      event,
      atMs: this.#epochMsOf(entry.atMs),
      instance,
      shard,
      seq,
      partition: partition === 0 ? null : partition,
      ...(isTopic && { subscriber: name }),
      ...(session > 0 && { session: `${instance}.${session}` }),
      ...(attempt > 0 && { attempt }),
      ...(group > 0 && { group: group % groupsPerEpoch }),
      ...((event === 'grouped' || event === 'committed') && group > 0 && { others }),
      ...(event === 'committed' && group > 0 && { writeMs: amount }),
      ...(untilEvents.has(event) && { untilMs: amount }),
      ...((event === 'forwarded' || event === 'received') && { peer: amount }),
    };
  }

  async #whereabouts(
    queue: ShardedQueue,
    name: MessageName,
    entries: readonly TraceEntry[],
  ): Promise<SubscriberWhereabouts[]> {
    const { instance } = this.#options;
    const last = entries.findLast(({ logId }) => !isDelayedLog(logId));
    const place = last ?? name;
    const log = isDelayedLog(place.logId) ? undefined : queue.findLog(place.logId);
    if (log === undefined) {
      const untilMs = isDelayedLog(name.logId) ? await this.#dueAtMs(queue, name) : undefined;
      if (untilMs === undefined) return [{ instance, state: 'unknown' }];
      return [{ instance, state: 'delayed', reason: 'not-due', untilMs }];
    }
    // Numbers of a log that was forwarded here are not those in the ids of its messages.
    if (last === undefined && !this.#isOwn(name.logId)) return [{ instance, state: 'unknown' }];
    const { backlogReader } = this.#options.sharded;
    const { dequeueEnabled } = this.#options.queues.findQueue(queue.row.name).row; // it changes while the queue is open
    return [...queue.subscriptions].slice(0, subscribersMax).flatMap((subscription) => {
      const cursor = subscription.cursors.find((each) => each.log === log);
      if (cursor === undefined || place.seq < cursor.firstSeq) return [];
      const holderOf: WhereaboutsSources['holderOf'] = (...of) => this.#holderOf(...of, entries);
      const sources = { dequeueEnabled, subscription, backlogReader, holderOf };
      const subscriber = subscription.name === undefined ? {} : { subscriber: subscription.name };
      return [{ instance, ...subscriber, ...whereaboutsOf(cursor, place.seq, sources) }];
    });
  }

  #isOwn(logId: LogId): boolean {
    return owningInstance(logId) === this.#options.instance;
  }

  /** When a delayed message is due, epoch ms; undefined if it is not in the first `delayedPagesMax` pages. */
  async #dueAtMs({ row }: ShardedQueue, { logId, seq }: MessageName): Promise<number | undefined> {
    const { backlogReader, delayClock } = this.#options.sharded;
    if (row.durability === 'memory') return undefined;
    let after = { dueAtMs: 0, delayedId: 0 };
    for (let page = 0; page < delayedPagesMax; page += 1) {
      const { rows, more } = await backlogReader.readDelayed(row.queueId, after);
      const found = rows.find(({ shard, delayedId }) => delayedId === seq && delayedLogId(shard) === logId);
      if (found !== undefined) return delayClock.epochMsOf(found.dueAtMs);
      const last = rows.at(-1);
      if (!more || last === undefined) break;
      after = { dueAtMs: last.dueAtMs, delayedId: last.delayedId };
    }
    return undefined;
  }

  #holderOf(
    cursor: SubscriberCursor,
    seq: Seq,
    entries: readonly TraceEntry[],
  ): ReturnType<WhereaboutsSources['holderOf']> {
    const { instance, sharded, sessions } = this.#options;
    const delivered = entries.findLast(
      ({ event, subscriber }) => event === 'delivered' && subscriber === cursor.subscriber,
    );
    const known = {
      ...(delivered !== undefined && { sinceMs: this.#epochMsOf(delivered.atMs) }),
      ...(delivered !== undefined &&
        delivered.session > 0 && { session: `${instance}.${delivered.session}` }),
    };
    const isHeld = isDeliveryOf(cursor, seq);
    for (const { delivery, untilMs } of sharded.holds.expiring())
      if (isHeld(delivery)) return { holder: 'timed-hold', ...known, untilMs };
    if (sharded.branches.holds(cursor, seq)) return { holder: 'branch', ...known };
    for (const [number, session] of sessions)
      if (session.holds(cursor, seq))
        return { holder: 'transaction', ...known, session: `${instance}.${number}` };
    return { holder: 'other', ...known };
  }
}

/** Events whose `amount` is a time. */
const untilEvents: ReadonlySet<MessageEvent['event']> = new Set(['delayed', 'paused', 'held', 'extended']);

const idOf = ({ logId, seq }: MessageName) => `${logId}.${seq}`;

function assertCount(option: string, count: number, max: number): void {
  if (Number.isInteger(count) && count >= 1 && count <= max) return;
  throw new QueueError('OPTIONS_INVALID', { message: `${option} must be 1 to ${max}` });
}
