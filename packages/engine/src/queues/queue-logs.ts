/**
 * The logs of one sharded queue on this instance, made when the queue is first used or recovered: one for each shard, with
 * priorities one for each lane of it, and those of messages that were forwarded here.
 */
import type { QueueTrace } from '../log/log-trace.ts';
import type { CacheShare } from '../log/message-cache.ts';
import { MessageLog } from '../log/message-log.ts';
import type { Epoch, InstanceId, LogId, Seq } from '../model/ids.ts';
import type { ViolationListener } from '../model/invariant.ts';
import { laneLogId, priorityMax, shardNumber } from '../model/log-id.ts';
import type { QueueRow } from '../model/queue-row.ts';

export interface LogBounds {
  firstSeq: Seq;
  endSeq: Seq;
}

export interface QueueLogsOptions {
  row: QueueRow;
  instance: InstanceId;
  partitionMessagesMax: number;
  /** Sequence numbers of nonpersistent messages start at a number made from it, so that no id is given twice. */
  epoch: Epoch;
  trace: QueueTrace | undefined;
  /** The sequence numbers that the file holds. */
  recovered: ReadonlyMap<LogId, LogBounds>;
  /** Stops the instance. */
  onInvariantBroken?: ViolationListener | undefined;
}

export class QueueLogs {
  readonly all: MessageLog[] = [];
  /** The logs that sessions enqueue to: for each shard (by index) the logs of its lanes (by priority). */
  readonly byShard: readonly (readonly MessageLog[])[];
  readonly #options: QueueLogsOptions;
  readonly #cache: CacheShare;

  constructor(options: QueueLogsOptions, cache: CacheShare) {
    this.#options = options;
    this.#cache = cache;
    const { row, instance, recovered } = options;
    const lanes = row.priorities ? priorityMax + 1 : 1;
    this.byShard = Array.from({ length: row.shards }, (_shard, index) =>
      Array.from({ length: lanes }, (_lane, priority) =>
        this.create(laneLogId(shardNumber(instance, index), priority)),
      ),
    );
    for (const logId of recovered.keys()) if (this.find(logId) === undefined) this.create(logId);
  }

  find(logId: LogId): MessageLog | undefined {
    return this.all.find((log) => log.id === logId);
  }

  create(logId: LogId): MessageLog {
    const { row, epoch, recovered, partitionMessagesMax, trace, onInvariantBroken } = this.#options;
    const persistent = row.durability !== 'memory';
    const firstSeq = persistent ? 1 : epoch * 2 ** 32 + 1;
    const { queueId, retentionMs, correlationIndex: correlationIndexed } = row;
    const bounds = recovered.get(logId) ?? { firstSeq, endSeq: firstSeq };
    const log = new MessageLog(
      {
        queueId,
        id: logId,
        persistent,
        partitionMessagesMax,
        retentionMs,
        correlationIndexed,
        trace,
        ...bounds,
        onInvariantBroken,
      },
      this.#cache,
    );
    this.all.push(log);
    return log;
  }
}
