/**
 * The outbound forwardings of one queue at one instance: one for each shard that was forwarded to another instance or
 * came from one. A shard here is all its logs, those of forwarded messages included.
 */

import type { GroupCommit } from '../commit/group-commit.ts';
import type { ForwardedOutRow } from '../model/forwarding-row.ts';
import type { InstanceId, LogId } from '../model/ids.ts';
import { originalLogId, owningInstance, priorityOfLog, returnedLogId } from '../model/log-id.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import { OutboundForwarding, type OutboundForwardingHost } from './outbound-forwarding.ts';

export interface OutboundForwardingsOptions {
  queue: ShardedQueue;
  instance: InstanceId;
  group: GroupCommit;
  /** The rows of the queue in the file. */
  rows: readonly ForwardedOutRow[];
  host: OutboundForwardingHost;
}

export class OutboundForwardings {
  readonly #options: OutboundForwardingsOptions;
  readonly #byLog = new Map<LogId, OutboundForwarding>();
  /** Advances with each search, so that shards of the same priority take turns. */
  #rotation = 0;

  constructor(options: OutboundForwardingsOptions) {
    this.#options = options;
    for (const { shard } of options.rows) this.getOrCreate(shard);
    for (const { id } of options.queue.logs) if (this.isForeignLog(id)) this.getOrCreate(originalLogId(id));
  }

  /** Call it again whenever a log of the shard was created. */
  getOrCreate(logId: LogId): OutboundForwarding {
    const { queue, instance, group, rows, host } = this.#options;
    let outbound = this.#byLog.get(logId);
    if (outbound === undefined) {
      outbound = new OutboundForwarding({
        shardKey: { queueId: queue.row.queueId, shard: logId },
        returnsToOwner: owningInstance(logId) !== instance,
        group,
        sync: queue.row.durability === 'durable' ? 'FULL' : 'NORMAL',
        rows: rows.filter((row) => row.shard === logId),
        host,
      });
      this.#byLog.set(logId, outbound);
    }
    const logs = [returnedLogId(logId), logId].flatMap((id) => queue.findLog(id) ?? []);
    const subscription = queue.subscription(undefined);
    outbound.setCursors(logs.flatMap((log) => log.cursorOf(subscription.id) ?? []));
    return outbound;
  }

  get(logId: LogId): OutboundForwarding | undefined {
    return this.#byLog.get(logId);
  }

  [Symbol.iterator](): Iterator<OutboundForwarding> {
    return this.#byLog.values();
  }

  get size(): number {
    return this.#byLog.size;
  }

  /** Whether a log holds messages that came from another instance. */
  isForeignLog(logId: LogId): boolean {
    return owningInstance(logId) !== this.#options.instance || originalLogId(logId) !== logId;
  }

  get forwardedOut(): number {
    let messages = 0;
    for (const outbound of this) messages += outbound.forwardedOut;
    return messages;
  }

  /** No operation is running, and no forwarded message waits for its delivery at another instance. */
  get areQuiescent(): boolean {
    return [...this].every(({ state, busy }) => !busy && (state === 'closed' || state === 'open'));
  }

  /** A shard of this instance with the most urgent messages that may go to this receiver; undefined if there is none. */
  nextForReceiver(receiver: InstanceId): OutboundForwarding | undefined {
    const ownLogs = this.#options.queue.logs.filter(({ id }) => !this.isForeignLog(id));
    this.#rotation += 1;
    let found: OutboundForwarding | undefined;
    for (let i = 0; i < ownLogs.length; i += 1) {
      const { id, backlog } = ownLogs[(this.#rotation + i) % ownLogs.length]!;
      if (found !== undefined && priorityOfLog(id) <= priorityOfLog(found.shardKey.shard)) continue;
      if (backlog === 0 && !this.#byLog.has(id)) continue;
      const outbound = this.getOrCreate(id);
      const cursor = outbound.nextCursor;
      if (cursor === undefined || !outbound.canForwardTo(receiver)) continue;
      if (cursor.needsRead) void this.#options.host.readAhead(cursor);
      else found = outbound;
    }
    return found;
  }
}
