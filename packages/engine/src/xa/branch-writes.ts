/**
 * The writes of a branch to its instance's file: its row while it is prepared, and the group that commits it or deletes that row
 * (`docs/decisions/xa.md`).
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { StagedSql } from '../commit/staged-transaction.ts';
import { type Delivery, traceDelivery } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { mergeRanges, type SeqRange } from '../model/consumption.ts';
import type { EvacuatedRow } from '../model/evacuated-message.ts';
import type { PartitionId } from '../model/ids.ts';
import type { Clock } from '../model/ports.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { PreparedBranchRow } from '../model/xa-rows.ts';
import type { DelayedMessages } from '../queues/delayed-messages.ts';
import type { Dispatcher } from '../queues/dispatcher.ts';
import type { ShardedQueues } from '../queues/sharded-queues.ts';
import type { ShardedTransaction, ShardedTransactions } from '../queues/sharded-transaction.ts';
import type { Branch } from './branch.ts';
import { encodeBranch, type FindLog, stageBranch } from './branch-content.ts';

export interface BranchWritesOptions {
  groupCommit: GroupCommit;
  queues: ShardedQueues;
  dispatcher: Pick<Dispatcher, 'nack'>;
  delayed: DelayedMessages;
  transactions: ShardedTransactions;
  clock: Clock;
  /** Bytes in memory of all prepared branches. */
  preparedBytes(): number;
}

export class BranchWrites {
  readonly #options: BranchWritesOptions;
  readonly #findLog: FindLog;

  constructor(options: BranchWritesOptions) {
    this.#options = options;
    this.#findLog = (queueId, logId) => {
      const log = options.queues.findById(queueId)?.findLog(logId);
      return log?.dropped === true ? undefined : log;
    };
  }

  /** Gives a branch what its row says, and holds its messages. Nothing may have been delivered yet. */
  restore(branch: Branch, { content, rows: ofApplication }: PreparedBranchRow): void {
    const deliveries: Delivery[] = [];
    const { consumed, absorbed } = stageBranch(content, this.#findLog);
    for (const key of absorbed) branch.absorbed.add(key);
    for (const { queueId, log, subscriber, ranges } of consumed) {
      const cursor = this.#findLog(queueId, log)?.cursorOf(subscriber);
      if (cursor !== undefined) deliveries.push(...cursor.deliveries.holdReturned(new Set(seqsIn(ranges))));
    }
    branch.prepared = { content, hasRows: ofApplication !== '', deliveries };
  }

  /** Writes the branch's row; `branch.prepared` stays undefined if it has no messages and its statements have changed no row. */
  async prepare(
    branch: Branch,
    transaction: ShardedTransaction,
    time: RecordedTime | undefined,
  ): Promise<void> {
    const { groupCommit, clock } = this.#options;
    const preparable = transaction.contentToPrepare();
    const { runs, deliveries, delayed, statements } = preparable;
    const content = encodeBranch(preparable, branch.absorbed);
    const row = { ...branch.xid, content, preparedAtMs: clock.epochMs() };
    const evacuated = new Map<SubscriberCursor, SeqRange[]>();
    assertCanEvacuate(deliveries);
    this.#assertCanKeep(content.length);
    const hasMessages = runs.length + deliveries.length + delayed.length > 0;
    const sql: StagedSql | undefined =
      statements.length === 0
        ? undefined
        : { statements: [...statements], results: [], branch: { kind: 'prepare', row, hasMessages } };
    const withoutRows = { kind: 'prepare branch', row: { ...row, rows: '' } } as const;
    await groupCommit.write({
      sync: 'FULL',
      bytes: content.length,
      ...(time !== undefined && { time }),
      terminalRanges: evacuated,
      sql,
      // With statements the writer knows the rows, and writes the branch's row.
      onClose: () => [
        ...evacuationWrites(deliveries, evacuated),
        ...(sql === undefined ? [withoutRows] : []),
      ],
      onDurable: () => {
        for (const [cursor, ranges] of evacuated) cursor.markEvacuated(ranges);
        for (const delivery of deliveries) traceDelivery('prepared', delivery);
      },
    });
    const hasRows = sql !== undefined && sql.results.length > 0;
    if (hasMessages || hasRows) branch.prepared = { content, hasRows, deliveries: [...deliveries] };
    for (const { log } of evacuated.keys()) groupCommit.truncateDrained(log);
  }

  /** Throws `XA_UNSUPPORTED` if prepared branches have too many bytes in memory. */
  #assertCanKeep(bytes: number): void {
    const { preparedBytesMax } = limits;
    if (this.#options.preparedBytes() + bytes <= preparedBytesMax) return;
    throw new QueueError('XA_UNSUPPORTED', {
      message: `Prepared branches would have over ${preparedBytesMax} bytes in memory`,
      details: { preparedBytesMax },
    });
  }

  /** The messages of a prepared branch get their numbers, what it consumes is terminal, and its row is gone. */
  async commit(branch: Branch, time: RecordedTime | undefined): Promise<void> {
    const { groupCommit, delayed, transactions } = this.#options;
    const { content, hasRows, deliveries } = branch.prepared!;
    const staged = stageBranch(content, this.#findLog);
    const consumed = deliveries.filter(({ cursor }) => !cursor.removed && !cursor.log.dropped);
    await groupCommit.write({
      sync: 'FULL',
      runs: staged.runs,
      deliveries: consumed,
      bytes: content.byteLength,
      ...(time !== undefined && { time }),
      sql: hasRows ? { statements: [], results: [], branch: { kind: 'commit', key: branch.xid } } : undefined,
      onClose: () => [
        { kind: 'end branch', key: branch.xid },
        ...staged.delayed.map((message) => ({ kind: 'insert delayed', message }) as const),
      ],
      onDurable: () => delayed.add(staged.delayed),
    });
    transactions.enqueued += staged.messages;
    transactions.consumed += consumed.reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Deletes the row of a prepared branch, without a sync: if a power cut brings it back, the branch is in doubt again, and its
   * transaction manager rolls it back again.
   */
  async rollback(branch: Branch): Promise<void> {
    const { groupCommit, dispatcher } = this.#options;
    await groupCommit.write({
      sync: 'NORMAL',
      onClose: () => [{ kind: 'end branch', key: branch.xid }],
    });
    await dispatcher.nack(branch.prepared!.deliveries.filter(({ cursor }) => !cursor.removed));
  }
}

function* seqsIn(ranges: readonly SeqRange[]): Generator<number> {
  for (const [start, end] of ranges) for (let seq = start; seq < end; seq += 1) yield seq;
}

/** Throws `XA_UNSUPPORTED` if a cursor would have too many messages outside of their partitions. */
function assertCanEvacuate(deliveries: readonly Delivery[]): void {
  for (const [cursor, own] of Map.groupBy(deliveries, (delivery) => delivery.cursor)) {
    if (cursor.canEvacuate(own.reduce((sum, { count }) => sum + count, 0))) continue;
    const { evacuatedPerCursorMax } = limits;
    throw new QueueError('XA_UNSUPPORTED', {
      message: `Prepared branches hold over ${evacuatedPerCursorMax} messages of one shard`,
      details: { evacuatedPerCursorMax },
    });
  }
}

/** Copies the messages out of their partitions, as far as they are in one; adds them to `evacuated`. */
function evacuationWrites(
  deliveries: readonly Delivery[],
  evacuated: Map<SubscriberCursor, SeqRange[]>,
): TableWrite[] {
  const rowsByPartition = new Map<PartitionId, Omit<EvacuatedRow, 'record'>[]>();
  for (const { cursor, firstSeq, count, deliveryCount: attempts } of deliveries) {
    const { log, subscriber } = cursor;
    if (cursor.removed || log.dropped) continue;
    const { inPartitions } = cursor.splitEvacuated([[firstSeq, firstSeq + count]]);
    evacuated.set(cursor, mergeRanges([...(evacuated.get(cursor) ?? []), ...inPartitions]));
    for (const seq of seqsIn(inPartitions)) {
      const { id } = log.partitions.partitionOf(seq);
      const rows = rowsByPartition.get(id) ?? [];
      rowsByPartition.set(id, rows);
      rows.push({ queueId: log.queueId, shard: log.id, subscriber, seq, attempts });
    }
  }
  return [...rowsByPartition].map(([partition, rows]) => ({ kind: 'evacuate', partition, rows }));
}
