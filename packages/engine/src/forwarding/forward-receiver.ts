/**
 * Receives batches from other instances. Their messages are committed to a log of their shard here, in one commit with
 * the batch number, so a batch that arrives twice is stored once.
 */

import type { GroupCommit } from '../commit/group-commit.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import { newStagedRun, type StagedRun, stageRecords } from '../commit/staged-transaction.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { BatchSender, ForwardedBatch, ShardKey } from '../model/forwarded-batch.ts';
import type { ForwardedInRow } from '../model/forwarding-row.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { BatchNumber, InstanceId, LogId, QueueId } from '../model/ids.ts';
import { owningInstance, returnedLogId } from '../model/log-id.ts';
import { recordEnd } from '../model/message-record.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import { encodeBatch } from './encode-batch.ts';
import type { OutboundForwarding, RecommittedMessages } from './outbound-forwarding.ts';
import { highestSeq } from './returned-order.ts';

/** The log into which a batch is stored. */
export interface ForwardTarget {
  queue: ShardedQueue;
  /** Set if this instance owns the shard, so that the batch returns to it. */
  outbound: OutboundForwarding | undefined;
}

interface ArrivedBatch {
  sender: BatchSender;
  batch: ForwardedBatch;
  queue: ShardedQueue;
  log: MessageLog;
  /** Messages to store again behind the batch. */
  recommitted: RecommittedMessages | undefined;
}

export interface ForwardReceiverOptions {
  instance: InstanceId;
  group: GroupCommit;
  slab: Slab;
  /** The rows in the file. */
  rows: readonly ForwardedInRow[];
}

/** The log of an instance that forwarded messages of a shard are stored in. */
export function receivingLogId(logId: LogId, instance: InstanceId): LogId {
  return owningInstance(logId) === instance ? returnedLogId(logId) : logId;
}

export class ForwardReceiver {
  readonly #options: ForwardReceiverOptions;
  /** Rows by `rowKey`. */
  readonly #rows = new Map<string, ForwardedInRow>();
  /** Batches being stored, by `rowKey`: batches of one shard and sender are stored one after the other. */
  readonly #inProgress = new Map<string, Promise<unknown>>();
  /** Latest sender of each instance: batches from an earlier connection or process of the instance are refused. */
  readonly #fences = new Map<InstanceId, BatchSender>();

  constructor(options: ForwardReceiverOptions) {
    this.#options = options;
    for (const row of options.rows) this.#rows.set(rowKey(row, row.sender), row);
  }

  /** Messages of a queue received from other instances since it was created. */
  forwardedIn(queueId: QueueId): number {
    let messages = 0;
    for (const row of this.#rows.values()) if (row.queueId === queueId) messages += row.messagesTotal;
    return messages;
  }

  forgetQueue(queueId: QueueId): void {
    for (const [key, row] of this.#rows) if (row.queueId === queueId) this.#rows.delete(key);
  }

  /**
   * Resolves with whether the batch is committed here. If not, it never will be. Throws the storage errors, after which
   * the outcome is unknown. `findTarget` returns undefined to refuse the batch.
   */
  acceptBatch(
    sender: BatchSender,
    batch: ForwardedBatch,
    findTarget: () => ForwardTarget | undefined,
  ): Promise<boolean> {
    return this.#runInOrder(rowKey(batch, sender.instance), async (key) => {
      const fence = this.#fences.get(sender.instance);
      if (fence !== undefined && isOlderSender(sender, fence)) return false;
      const row = this.#rows.get(key);
      if (row !== undefined && batch.batchNumber <= row.batchNumber) return true;
      const target = findTarget();
      if (target === undefined) return false;
      const { queue, outbound } = target;
      const log = queue.receivingLog(receivingLogId(batch.shard, this.#options.instance));
      const commit = (recommitted?: RecommittedMessages) =>
        this.#commit({ sender, batch, queue, log, recommitted });
      if (outbound !== undefined) return outbound.acceptReturned(highestSeq(batch), commit);
      await commit();
      return true;
    });
  }

  async #commit({ sender, batch, log, queue, recommitted }: ArrivedBatch): Promise<void> {
    const { group, slab } = this.#options;
    const run = newStagedRun(log);
    stageRecords(slab, run, batch.records);
    const behind = recommitted && encodeBatch(recommitted.deliveries);
    if (behind !== undefined) stageRecords(slab, run, behind.records);
    const { queueId, shard, sourceRuns, batchNumber } = batch;
    const previousTotal = this.#rows.get(rowKey(batch, sender.instance))?.messagesTotal ?? 0;
    const row: ForwardedInRow = {
      queueId,
      shard,
      sender: sender.instance,
      batchNumber,
      batchIdRuns: sourceRuns,
      messagesTotal: previousTotal + run.count,
    };
    const priorAttempts = [
      ...batch.priorAttempts,
      ...(behind?.priorAttempts ?? []).map(([index, times]) => [index + batch.records.count, times] as const),
    ];
    await group.write({
      runs: [run],
      deliveries: [...(recommitted?.deliveries ?? [])],
      bytes: recordBytes(batch) + recordBytes(behind),
      sync: queue.row.durability === 'durable' ? 'FULL' : 'NORMAL',
      background: true,
      onClose: () => [
        { kind: 'forwarded in', row },
        ...(recommitted === undefined ? [] : [{ kind: 'forwarded out', row: recommitted.row } as const]),
      ],
      onNumbered: () => {
        traceReceived(run, sender.instance);
        return recordPriorAttempts(log, run, priorAttempts);
      },
    });
    this.#rows.set(rowKey(row, row.sender), row);
  }

  /** Reports the sender's last batch, after waiting for batches that are being stored. From now on older senders are refused. */
  reportReceived(
    sender: BatchSender,
    shard: ShardKey,
  ): Promise<{ batchNumber: BatchNumber; sourceRuns: readonly IdRun[] }> {
    const fence = this.#fences.get(sender.instance);
    if (fence === undefined || isOlderSender(fence, sender)) this.#fences.set(sender.instance, sender);
    return this.#runInOrder(rowKey(shard, sender.instance), async (key) => {
      const { batchNumber = 0, batchIdRuns = [] } = this.#rows.get(key) ?? {};
      return { batchNumber, sourceRuns: batchIdRuns };
    });
  }

  /** Resolves once no batch of the shard is being stored. */
  async whenShardIdle({ queueId, shard }: ShardKey): Promise<void> {
    const prefix = `${queueId} ${shard} `;
    await Promise.all(
      [...this.#inProgress].filter(([key]) => key.startsWith(prefix)).map(([, work]) => work),
    );
  }

  async #runInOrder<T>(key: string, work: (key: string) => Promise<T>): Promise<T> {
    const previous = this.#inProgress.get(key);
    const result = previous === undefined ? work(key) : previous.then(() => work(key));
    const ended = result.catch(() => undefined);
    this.#inProgress.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#inProgress.get(key) === ended) this.#inProgress.delete(key);
    }
  }
}

function rowKey({ queueId, shard }: ShardKey, sender: InstanceId): string {
  return `${queueId} ${shard} ${sender}`;
}

function isOlderSender(sender: BatchSender, other: BatchSender): boolean {
  if (sender.epoch !== other.epoch) return sender.epoch < other.epoch;
  return sender.connectionNumber < other.connectionNumber;
}

function recordBytes(batch: Pick<ForwardedBatch, 'records'> | undefined): number {
  return batch === undefined ? 0 : batch.records.end - batch.records.start;
}

/** The messages of a run that are traced by the ids that they keep. */
function traceReceived({ log, segments }: StagedRun, sender: InstanceId): void {
  const { trace } = log;
  if (trace === undefined) return;
  for (const { buffer, firstSeq, count, start } of segments) {
    let at = start;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1, at = recordEnd(buffer, at)) {
      trace.name(seq, buffer, at);
      if (log.traces(seq, 1)) trace.record('received', seq, 1, { amount: sender });
    }
  }
}

/** Tells the cursors how often messages were delivered at other instances, and returns the rows that record it. */
function recordPriorAttempts(
  log: MessageLog,
  run: StagedRun,
  priorAttempts: ForwardedBatch['priorAttempts'],
): TableWrite[] {
  return priorAttempts.map(([index, attempts]) => {
    const seq = run.firstSeq + index;
    for (const cursor of log.cursors) cursor.recordEarlierAttempts(seq, attempts);
    const partition = log.partitions.partitionOf(seq).id;
    return { kind: 'attempts', partition, rows: [{ subscriber: 0, seq, attempts }] };
  });
}
