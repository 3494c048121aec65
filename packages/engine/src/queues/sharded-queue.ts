/** One sharded queue on one instance: its logs, the shard that each session enqueues to, and its subscriptions. */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { ShardStats } from '../api/instance-stats.ts';
import type { NewMessage } from '../api/message.ts';
import type { SubscriberInfo } from '../api/subscriber.ts';
import type { WaitRecorder } from '../api/waits.ts';
import type { CacheShare, MessageCache } from '../log/message-cache.ts';
import { MessageLog } from '../log/message-log.ts';
import type { InvariantViolation } from '../model/invariant.ts';
import { laneLogId, priorityMax, priorityOfLog, shardNumber } from '../model/log-id.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { QueueCounts } from './queue-engine.ts';
import type { QueueForwardingPort } from './queue-forwarding-port.ts';
import { type SubscriberIdentity, Subscription } from './subscription.ts';
import type { WaiterPorts } from './waiters.ts';

/** The only subscription of a queue that is no topic. */
const queueSubscription = { id: 0, name: undefined, durable: true };

export interface LogBounds {
  firstSeq: number;
  endSeq: number;
}

export interface ShardedQueueOptions {
  row: QueueRow;
  instance: number;
  cache: MessageCache;
  waits: WaitRecorder;
  ports: WaiterPorts;
  partitionMessagesMax: number;
  /** Sequence numbers of nonpersistent messages start at a number made from it, so that no id is given twice. */
  epoch: number;
  /** By log id: the sequence numbers that the file holds. */
  recovered: ReadonlyMap<number, LogBounds>;
  /** Stops the instance. */
  onInvariantBroken?: ((violation: InvariantViolation) => void) | undefined;
}

export class ShardedQueue {
  /** Every log: one for each shard, with priorities one for each lane of it, and those of messages forwarded here. */
  readonly logs: MessageLog[] = [];
  /** The shards of this instance, by index. */
  readonly #shards: readonly Shard[];
  readonly row: QueueRow;
  readonly #cache: CacheShare;
  readonly #waits: WaitRecorder;
  readonly #ports: WaiterPorts;
  /** The shard that a session enqueues to, by session number. */
  readonly #shardOfSession = new Map<number, Shard>();
  readonly #subscriptions = new Map<string | undefined, Subscription>();
  readonly #createLog: (logId: number) => MessageLog;
  /** Undefined for a queue whose messages are not forwarded. */
  forwarding: QueueForwardingPort | undefined;

  constructor({
    row,
    instance,
    cache,
    waits,
    ports,
    partitionMessagesMax,
    epoch,
    recovered,
    onInvariantBroken,
  }: ShardedQueueOptions) {
    this.row = row;
    this.#cache = cache.openShare({ bytesMin: row.cacheBytesMin, bytesMax: row.cacheBytesMax });
    this.#waits = waits;
    this.#ports = ports;
    const persistent = row.durability !== 'memory';
    const firstSeq = persistent ? 1 : epoch * 2 ** 32 + 1;
    this.#createLog = (logId) => {
      const bounds = recovered.get(logId) ?? { firstSeq, endSeq: firstSeq };
      const log = new MessageLog(
        {
          queueId: row.queueId,
          id: logId,
          persistent,
          partitionMessagesMax,
          correlationIndexed: row.correlationIndex,
          ...bounds,
          onInvariantBroken,
        },
        this.#cache,
      );
      this.logs.push(log);
      return log;
    };
    const priorities = row.priorities ? priorityMax + 1 : 1;
    this.#shards = Array.from({ length: row.shards }, (_, index) => {
      const logs = Array.from({ length: priorities }, (_, priority) =>
        this.#createLog(laneLogId(shardNumber(instance, index), priority)),
      );
      return new Shard(logs);
    });
    for (const logId of recovered.keys()) if (this.findLog(logId) === undefined) this.#createLog(logId);
    if (row.type === 'queue') this.addSubscription(queueSubscription, (log) => log.firstSeq);
  }

  /** Keeps messages for a subscriber from now on: in each log from `firstSeqOf` it. */
  addSubscription(
    { id, name, durable }: SubscriberIdentity,
    firstSeqOf: (log: MessageLog) => number,
  ): Subscription {
    const subscription = new Subscription({ id, name, durable }, this.#waits, this.#ports);
    for (const log of this.logs)
      subscription.add(log.addCursor({ subscriber: id, name, durable, firstSeq: firstSeqOf(log) }));
    this.#subscriptions.set(name, subscription);
    return subscription;
  }

  removeSubscription(subscription: Subscription): void {
    if (this.#subscriptions.get(subscription.name) === subscription)
      this.#subscriptions.delete(subscription.name);
    subscription.rejectWaiters('SUBSCRIBER_NOT_FOUND');
    for (const log of this.logs) log.removeCursor(subscription.id);
  }

  get subscriptions(): Iterable<Subscription> {
    return this.#subscriptions.values();
  }

  /** The subscription of a topic's subscriber, or with `undefined` that of a queue. Throws `SUBSCRIBER_NOT_FOUND`. */
  subscription(name: string | undefined): Subscription {
    const subscription = this.#subscriptions.get(name);
    if (subscription !== undefined) return subscription;
    throw new QueueError('SUBSCRIBER_NOT_FOUND', {
      details: { queue: this.row.name, subscriber: name },
    });
  }

  hasSubscription(name: string): boolean {
    return this.#subscriptions.has(name);
  }

  /** Where messages go that no session enqueues. */
  get firstLog(): MessageLog {
    return this.#shards[0]!.logOf(0);
  }

  findLog(logId: number): MessageLog | undefined {
    return this.logs.find((log) => log.id === logId);
  }

  /** The log for messages that another instance forwards here; created if there is none. */
  receivingLog(logId: number): MessageLog {
    const known = this.findLog(logId);
    if (known !== undefined) return known;
    const log = this.#createLog(logId);
    const { id: subscriber, name, durable } = queueSubscription;
    this.subscription(name).add(log.addCursor({ subscriber, name, durable, firstSeq: log.firstSeq }));
    this.forwarding?.onLogAdded(logId);
    return log;
  }

  /**
   * The log of a session's message: in the shard of its group key, else of the session, the lane of its priority. Throws
   * `SUBSCRIBER_NOT_FOUND`, `BACKLOG_FULL`.
   */
  logFor(session: number, { groupKey, recipients, priority = 0 }: NewMessage): MessageLog {
    if (recipients !== undefined) for (const name of recipients) this.subscription(name);
    if (this.row.durability === 'memory' && this.#cache.isFull) throw new QueueError('BACKLOG_FULL');
    const shard =
      groupKey === undefined
        ? this.#shardFor(session)
        : this.#shards[hashGroupKey(groupKey) % this.#shards.length]!;
    return shard.logOf(priority);
  }

  /** The shard that a session is bound to; at its first enqueue, the one with the fewest sessions. */
  #shardFor(session: number): Shard {
    let shard = this.#shardOfSession.get(session);
    if (shard === undefined) {
      // Messages behind damage wait for a repair, so a new session gets an undamaged shard if there is one.
      const undamaged = this.#shards.filter(({ hasDamage }) => !hasDamage);
      const candidates = undamaged.length > 0 ? undamaged : this.#shards;
      shard = candidates.reduce((least, candidate) =>
        candidate.boundSessions < least.boundSessions ? candidate : least,
      );
      shard.boundSessions += 1;
      this.#shardOfSession.set(session, shard);
    }
    return shard;
  }

  /** The queue was dropped: frees its part of the message cache. */
  dispose(): void {
    for (const log of this.logs) log.dispose();
    this.#cache.close();
  }

  serveWaiters(): void {
    for (const subscription of this.#subscriptions.values()) subscription.serve();
    this.forwarding?.onReady();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    for (const subscription of this.#subscriptions.values()) subscription.rejectWaiters(reason);
  }

  unbindSession(session: number): void {
    const shard = this.#shardOfSession.get(session);
    if (shard === undefined) return;
    shard.boundSessions -= 1;
    this.#shardOfSession.delete(session);
  }

  counts(): QueueCounts {
    const cacheBytes = this.#cache.bytes;
    const counts = {
      shards: this.row.shards,
      cacheBytes,
      ready: 0,
      held: 0,
      delayed: 0,
      enqueued: 0,
      consumed: 0,
      forwardedIn: 0,
      forwardedOut: 0,
    };
    for (const { enqueued, backlog, held, paused } of this.logs) {
      // A message of a topic counts as ready until no subscriber waits for it, whether or not some hold it.
      counts.ready += this.row.type === 'queue' ? backlog - held - paused : backlog;
      counts.held += held;
      counts.delayed += paused;
      counts.enqueued += enqueued;
      counts.consumed += enqueued - backlog;
    }
    return counts;
  }

  shardStats(): ShardStats[] {
    // Lanes that never had a message are left out.
    const shown = this.logs.filter(
      ({ id, nextSeq, firstSeq }) => priorityOfLog(id) === 0 || nextSeq > firstSeq,
    );
    return shown.map((log) => ({
      shard: log.id,
      queue: this.row.name,
      backlog: log.backlog,
      cacheBytes: log.cacheBytes,
      partitions: log.partitions.stats((start, end) => log.terminalCountBetween(start, end)),
    }));
  }

  /** The subscribers of a topic; none for a queue. */
  subscribers(nowMs: number): SubscriberInfo[] {
    return [...this.#subscriptions.values()]
      .filter((subscription) => subscription.name !== undefined)
      .map((subscription) => subscription.subscriberInfo(nowMs));
  }
}

/** FNV-1a over UTF-16 code units: a key must have the same shard in every run. */
function hashGroupKey(key: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) value = Math.imul(value ^ key.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}

/**
 * One shard of a queue: its logs, one per priority. Sessions are bound to a shard and enqueue to its logs. Logs of messages
 * that were forwarded from other instances belong to no shard here: nobody enqueues to them.
 */
class Shard {
  /** Number of sessions bound to it. */
  boundSessions = 0;
  /** By priority, 0 first. */
  readonly #logs: readonly MessageLog[];

  constructor(logs: readonly MessageLog[]) {
    this.#logs = logs;
  }

  /** Throws a `RangeError` for a priority that the queue does not have. */
  logOf(priority: number): MessageLog {
    const log = this.#logs[priority];
    if (log === undefined) throw new RangeError(`the shard has no log of priority ${priority}`);
    return log;
  }

  /** Messages behind a damaged partition are not delivered before it is repaired. */
  get hasDamage(): boolean {
    return this.#logs.some(({ partitions }) => partitions.hasDamage);
  }
}
