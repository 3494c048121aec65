/** What the session thread and the writer tell each other. */

import type { SqlResult } from '../api/sql.ts';
import type { GroupNumber, LogId, PartitionId, QueueId, Seq, SubscriberId, WriterGeneration } from './ids.ts';
import type { SqlStatement } from './sql-statement.ts';
import type { StorageFailure } from './storage-failure.ts';
import type { TableWrite } from './table-write.ts';
import type { PreparedBranchKey, PreparedBranchRow } from './xa-rows.ts';

/** A run of messages for one partition; its bytes are in the group's buffer. */
export interface BlockEntry {
  partition: PartitionId;
  firstSeq: Seq;
  count: number;
  offset: number;
  length: number;
  /** They may be read after all that the file knows of have consumed them: its queue keeps them, or has nondurable subscribers. */
  keepsConsumed: boolean;
}

/** The ranges that became terminal in one partition: encoded, and counted from the partition's first sequence number. */
export interface ConsumptionDeltaEntry {
  partition: PartitionId;
  subscriber: SubscriberId;
  offset: number;
  length: number;
}

export interface PartitionAssignment {
  partition: PartitionId;
  queueId: QueueId;
  shard: LogId;
  firstSeq: Seq;
  /** It gets a local index on correlation ids. */
  hasCorrelationIndex: boolean;
}

/** Changes to the pool that ride in a group. Each is repeated by a later group if this one fails. */
export interface PoolChanges {
  /** Tables to make. */
  create: PartitionId[];
  assign: PartitionAssignment[];
  /** Partitions to empty and return to the pool. */
  truncate: PartitionId[];
}

/** How transactions of remote sessions ended, in the group's buffer; `session-outcome.ts` defines the encoding. */
export interface EncodedOutcomes {
  offset: number;
  /** 0: no row is added. */
  length: number;
  /** Rows of this group and those before it are removed; 0: none. */
  retiredThroughGroup: GroupNumber;
}

/** Ranges that become terminal in one partition, encoded as in a delta. */
export interface ConsumptionDelta {
  partition: PartitionId;
  subscriber: SubscriberId;
  ranges: number[];
}

/** A transaction with statements of the application. The rest of it is written only if they succeed. */
export interface SqlTransaction {
  statements: SqlStatement[];
  /** It is no commit of statements, but a branch of a distributed transaction. */
  branch: SqlBranch | undefined;
  blocks: BlockEntry[];
  consumptionDeltas: ConsumptionDelta[];
  tableWrites: TableWrite[];
  /** Its part of `outcomes`; null if no client can ask for its outcome. */
  outcomeRange: { offset: number; length: number } | null;
  /** Written instead if they fail: the numbers of its messages are terminal for everyone. */
  gapDeltas: ConsumptionDelta[];
}

/**
 * A step of a branch with statements. At the prepare the statements run, their row changes are stored, and they are undone; at
 * the commit the stored changes are written. With `hasMessages` the branch is stored even if no row changes.
 */
export type SqlBranch =
  | { kind: 'prepare'; row: Omit<PreparedBranchRow, 'rows'>; hasMessages: boolean }
  | { kind: 'commit'; key: PreparedBranchKey };

/** How the statements of a transaction ended. */
export interface SqlOutcome {
  results: SqlResult[];
  /** Not null: nothing of the transaction is done. */
  failure: StorageFailure | null;
}

export interface Group {
  kind: 'group';
  groupNumber: GroupNumber;
  /** Raised by the session thread after a failure; the writer refuses groups that were built before it. */
  generation: WriterGeneration;
  sync: 'FULL' | 'NORMAL';
  buffer: SharedArrayBuffer;
  blocks: BlockEntry[];
  consumptionDeltas: ConsumptionDeltaEntry[];
  outcomes: EncodedOutcomes;
  /** Rarely used; empty in most groups. */
  tableWrites: TableWrite[];
  /** Transactions with statements, in commit order; their content is not in the lists above. */
  sqlTransactions: SqlTransaction[];
  poolChanges: PoolChanges;
}

/** How the last group ended: groups behind one that failed fail too, up to the first of a later generation. */
export interface WriterState {
  generation: WriterGeneration;
  failure: StorageFailure | null;
}

/** State of a writer that has committed no group. */
export const newWriterState: WriterState = { generation: 0, failure: null };

/** The outcome of one statement of a transaction with a reserved writer. */
export interface StatementAnswer {
  outcome: SqlOutcome;
  /** Not null: storage failed, and all of the transaction is undone. */
  storageFailure: StorageFailure | null;
}

export interface GroupResult {
  kind: 'group';
  groupNumber: GroupNumber;
  generation: WriterGeneration;
  failure: StorageFailure | null;
  /** The tables have every group up to this one. With a writer that writes to them alone it is the group itself. */
  appliedThrough: GroupNumber;
  /** Of the groups applied since the last answer: partitions too damaged to be truncated. */
  unusablePartitions: PartitionId[];
  /** One for each of the group's `sqlTransactions`; empty if the group failed. */
  sqlOutcomes: SqlOutcome[];
  /** Time spent on assigning, making and truncating partitions, and from there to the end of the sync. */
  maintenanceMs: number;
  /** Time that it waited for room in the redo log, before. */
  switchMs: number;
  commitMs: number;
  /** CPU time of the applier since the instance was opened, microseconds. */
  cpuUs: number;
}

/** How the commit of a group ended. */
export type CommitAnswer = Pick<
  GroupResult,
  'failure' | 'unusablePartitions' | 'sqlOutcomes' | 'maintenanceMs' | 'commitMs'
>;
