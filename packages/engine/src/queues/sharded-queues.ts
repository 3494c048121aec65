/**
 * The sharded queues of one instance that are in memory, recovered from the file or created when first used. For each queue: the
 * shard that each session enqueues to, and for each subscriber the cursors that deliver its messages in turn.
 */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { WaitEvent } from '../api/waits.ts';
import type { DeliverOptions } from '../log/delivery.ts';
import { QueueTrace } from '../log/log-trace.ts';
import type { CacheShare, MessageCache } from '../log/message-cache.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { hashGroupKey } from '../model/group-key.ts';
import type { LogId, QueueId, Seq, SessionNumber, SubscriberId } from '../model/ids.ts';
import { priorityOfLog } from '../model/log-id.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { countsOnDelivery } from '../model/retry-life.ts';
import type { TraceRing } from '../model/trace-ring.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import { BlockedSends } from './blocked-sends.ts';
import type { DeliveryLatencies } from './delivery-latencies.ts';
import type { QueueForwardingPort } from './queue-forwarding-port.ts';
import { type LogBounds, QueueLogs, type QueueLogsOptions } from './queue-logs.ts';
import type { WaiterPorts, WaitOptions } from './waiters.ts';
import { type TakeMessages, WaitingCalls } from './waiting-calls.ts';

/** `name` is undefined for the subscription of a queue. */
interface SubscriberIdentity {
  id: SubscriberId;
  name: string | undefined;
  durable: boolean;
}

/** The only subscription of a queue that is no topic. */
const queueSubscription = { id: 0, name: undefined, durable: true };

export interface ShardedQueueOptions extends Omit<QueueLogsOptions, 'trace'> {
  /** Records the events of traced messages. */
  traceRing?: TraceRing | undefined;
  cache: MessageCache;
  waits: WaitRecorder;
  ports: WaiterPorts;
  /** Messages of each queue that were lost when the instance last stopped. */
  lostMessages: ReadonlyMap<QueueId, number>;
}

/** One queue. */
export class ShardedQueue {
  readonly row: QueueRow;
  /** A message is handed over once its delivery is counted. */
  readonly countsDeliveries: boolean;
  /** All logs: those of the queue's shards, and those of messages forwarded here. */
  readonly logs: readonly MessageLog[];
  /** Undefined if nothing can be traced. */
  readonly trace: QueueTrace | undefined;
  readonly #logs: QueueLogs;
  /** The shards of this instance, by index. */
  readonly #shards: readonly Shard[];
  readonly #cache: CacheShare;
  readonly #waits: WaitRecorder;
  readonly #ports: WaiterPorts;
  /** The shard that a session enqueues to, by session number. */
  readonly #shardOfSession = new Map<SessionNumber, Shard>();
  readonly #subscriptions = new Map<string | undefined, Subscription>();
  /** Messages that flow control refused. */
  refused = 0;
  /** Sends that wait for room. */
  readonly blockedSends: BlockedSends;
  /** Messages of a nonpersistent queue that were lost when the instance last stopped. */
  readonly lost: number;
  /** Undefined until the queue's statistics are first requested: nothing is measured before. */
  latencies: DeliveryLatencies | undefined;
  /** Undefined for a queue whose messages are not forwarded. */
  forwarding: QueueForwardingPort | undefined;

  constructor({ cache, waits, ports, lostMessages, traceRing, ...ofLogs }: ShardedQueueOptions) {
    const { row } = ofLogs;
    this.trace = traceRing && new QueueTrace(traceRing);
    this.row = row;
    this.countsDeliveries = countsOnDelivery(row);
    this.lost = lostMessages.get(row.queueId) ?? 0;
    this.#cache = cache.openShare({ bytesMin: row.cacheBytesMin, bytesMax: row.cacheBytesMax });
    this.#waits = waits;
    this.#ports = ports;
    this.blockedSends = new BlockedSends(ports.timers);
    this.#logs = new QueueLogs({ ...ofLogs, trace: this.trace }, this.#cache);
    this.logs = this.#logs.all;
    this.#shards = this.#logs.byShard.map((lanes) => new Shard(lanes));
    if (row.type === 'queue') this.addSubscription(queueSubscription, (log) => log.firstSeq);
  }

  /** Keeps messages for a subscriber from now on: in each log from `firstSeqOf` it. */
  addSubscription(identity: SubscriberIdentity, firstSeqOf: (log: MessageLog) => Seq): Subscription {
    const subscription = new Subscription(identity, this.#waits, this.#ports);
    for (const log of this.logs) subscription.follow(log, firstSeqOf(log));
    this.#subscriptions.set(identity.name, subscription);
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
    throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { queue: this.row.name, subscriber: name } });
  }

  hasSubscription(name: string): boolean {
    return this.#subscriptions.has(name);
  }

  /** The log for messages that no session enqueues. */
  get firstLog(): MessageLog {
    return this.#shards[0]!.logOf(0);
  }

  findLog(logId: LogId): MessageLog | undefined {
    return this.#logs.find(logId);
  }

  /** The log for messages that another instance forwards here; created if there is none. */
  receivingLog(logId: LogId): MessageLog {
    const known = this.findLog(logId);
    if (known !== undefined) return known;
    const log = this.#logs.create(logId);
    this.subscription(queueSubscription.name).follow(log, log.firstSeq);
    this.forwarding?.onLogAdded(logId);
    return log;
  }

  /**
   * The log of a session's message: in the shard of its group key, else of the session, the lane of its priority. Throws
   * `SUBSCRIBER_NOT_FOUND`, `BACKLOG_FULL`.
   */
  logFor(session: SessionNumber, { groupKey, recipients, priority = 0 }: NewMessage): MessageLog {
    if (recipients !== undefined) for (const name of recipients) this.subscription(name);
    if (this.row.durability === 'memory' && this.#cache.isFull) throw new QueueError('BACKLOG_FULL');
    const shard =
      groupKey === undefined
        ? this.#shardFor(session)
        : this.#shards[hashGroupKey(groupKey) % this.#shards.length]!;
    return shard.logOf(priority);
  }

  /** The shard that a session is bound to; at its first enqueue, the one with the fewest sessions. */
  #shardFor(session: SessionNumber): Shard {
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

  /** Bytes of its messages in the message cache. */
  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  /** Messages enqueued and not consumed, held ones included; of a topic, not consumed by the subscriber that is furthest behind. */
  get undelivered(): number {
    let undelivered = 0;
    for (const log of this.logs) undelivered += log.backlog;
    return undelivered;
  }

  unbindSession(session: SessionNumber): void {
    const shard = this.#shardOfSession.get(session);
    if (shard === undefined) return;
    shard.boundSessions -= 1;
    this.#shardOfSession.delete(session);
  }
}

/**
 * One shard of a queue: its logs, one per priority. Sessions are bound to a shard and enqueue to its logs. Logs of messages that
 * were forwarded from other instances belong to no shard here, because no session enqueues to them.
 */
class Shard {
  /** Number of sessions bound to it. */
  boundSessions = 0;
  /** The logs by priority, 0 first. */
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

/**
 * The cursors of one subscriber over all logs of a queue on this instance, and the calls that wait for its messages. A
 * topic has a subscription for each subscriber; a queue has one, without a name.
 */
export class Subscription {
  /** 0 for the subscription of a queue. */
  readonly id: SubscriberId;
  readonly name: string | undefined;
  readonly durable: boolean;
  readonly #waits: WaitRecorder;
  readonly #ports: WaiterPorts;
  /** Made when the first call waits. */
  #waiting: WaitingCalls | undefined;
  readonly cursors: SubscriberCursor[] = [];
  /** The same cursors by priority, the most urgent first. */
  readonly #lanes: SubscriberCursor[][] = [];
  #nextIndex = 0;

  constructor({ id, name, durable }: SubscriberIdentity, waits: WaitRecorder, ports: WaiterPorts) {
    this.id = id;
    this.name = name;
    this.durable = durable;
    this.#waits = waits;
    this.#ports = ports;
  }

  /** Delivers the messages of a log as well, from `firstSeq` on. */
  follow(log: MessageLog, firstSeq: Seq): void {
    const { id: subscriber, name, durable } = this;
    const cursor = log.addCursor({ subscriber, name, durable, firstSeq });
    this.cursors.push(cursor);
    const priority = priorityOfLog(log.id);
    const lane = this.#lanes.find(([first]) => priorityOfLog(first!.log.id) === priority);
    if (lane !== undefined) lane.push(cursor);
    else {
      this.#lanes.push([cursor]);
      this.#lanes.sort(([a], [b]) => priorityOfLog(b!.log.id) - priorityOfLog(a!.log.id));
    }
  }

  /**
   * Delivers messages, the most urgent first, from one log after the other. Each call starts at another log, so that all
   * get their turn. Returns how many messages were delivered.
   */
  deliver({ max, session, nextHoldNumber, out }: DeliverOptions): number {
    this.#nextIndex += 1;
    let delivered = 0;
    for (const lane of this.#lanes) {
      for (let i = 0; i < lane.length && delivered < max; i += 1) {
        const rest = { max: max - delivered, session, nextHoldNumber, out };
        delivered += lane[(this.#nextIndex + i) % lane.length]!.deliver(rest);
      }
      // Nothing less urgent is delivered while more urgent messages are read from disk.
      if (delivered < max && this.#lanes.length > 1 && lane.some((cursor) => cursor.needsRead))
        return delivered;
    }
    return delivered;
  }

  /** Messages that are delivered before all that this cursor has. */
  readyInMoreUrgentLanes({ log }: SubscriberCursor): number {
    let ready = 0;
    for (const other of this.cursors)
      if (priorityOfLog(other.log.id) > priorityOfLog(log.id)) ready += other.ready;
    return ready;
  }

  get hasWaiters(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0;
  }

  /** As `WaitingCalls.nextServing`. */
  get nextServing(): Promise<void> | undefined {
    return this.#waiting?.nextServing;
  }

  /** Waits up to `waitMs` until `take` gets messages. */
  wait(take: TakeMessages, options: WaitOptions, event: WaitEvent): Promise<Message[]> {
    this.#waiting ??= new WaitingCalls(this.#waits, this.#ports);
    return this.#waiting.wait(take, options, event);
  }

  /** Messages may be ready: serves waiting calls. */
  serve(): void {
    this.#waiting?.serve();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    this.#waiting?.rejectAll(reason);
  }
}

export interface ShardedQueuesOptions extends Omit<ShardedQueueOptions, 'row' | 'recovered'> {
  /** From the catalog. */
  queueById(queueId: QueueId | null): QueueRow | undefined;
  /** A message of a topic turned out not to be addressed to a subscriber that reached it. */
  onNotForSubscriber(log: MessageLog, seq: Seq): void;
  /** Called for each queue that is created, not for one that is recovered. */
  onCreated(queue: ShardedQueue): void;
}

export class ShardedQueues {
  readonly #options: ShardedQueuesOptions;
  readonly #queues = new Map<QueueId, ShardedQueue>();

  constructor(options: ShardedQueuesOptions) {
    this.#options = options;
  }

  [Symbol.iterator](): Iterator<ShardedQueue> {
    return this.#queues.values();
  }

  /** Undefined if it was not used yet, or was dropped. */
  get(queueId: QueueId): ShardedQueue | undefined {
    return this.#queues.get(queueId);
  }

  getOrCreate(row: QueueRow): ShardedQueue {
    const known = this.#queues.get(row.queueId);
    if (known !== undefined) return known;
    const queue = this.createRecovered(row, new Map());
    this.#options.onCreated(queue);
    return queue;
  }

  /** A queue whose logs have these bounds in the file. Its partitions and subscriptions are to be recovered next. */
  createRecovered(row: QueueRow, recovered: ReadonlyMap<LogId, LogBounds>): ShardedQueue {
    const { onNotForSubscriber } = this.#options;
    const queue = new ShardedQueue({ row, recovered, ...this.#options });
    for (const log of queue.logs) {
      log.onNotForSubscriber = (seq) => onNotForSubscriber(log, seq);
      if (!log.persistent) log.onReleased = queue.blockedSends.onRoom;
    }
    this.#queues.set(row.queueId, queue);
    return queue;
  }

  /** Undefined if the catalog does not have it either. */
  findById(queueId: QueueId | null): ShardedQueue | undefined {
    const known = queueId === null ? undefined : this.#queues.get(queueId);
    if (known !== undefined) return known;
    const row = this.#options.queueById(queueId);
    return row && this.getOrCreate(row);
  }

  /** Undefined if it was dropped. */
  queueOfLog({ queueId }: MessageLog): ShardedQueue | undefined {
    return this.#queues.get(queueId);
  }

  delete(queueId: QueueId): void {
    this.#queues.delete(queueId);
  }

  /** Messages may be ready in these logs. */
  readonly serveWaitersOf = (logs: Iterable<MessageLog>): void => {
    const queues = new Set<ShardedQueue>();
    for (const log of logs) {
      const queue = this.queueOfLog(log);
      if (queue !== undefined) queues.add(queue);
    }
    for (const queue of queues) queue.serveWaiters();
  };

  serveAllWaiters(): void {
    for (const queue of this) queue.serveWaiters();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    for (const queue of this) queue.rejectWaiters(reason);
  }

  unbindSession(session: SessionNumber): void {
    for (const queue of this) queue.unbindSession(session);
  }
}
