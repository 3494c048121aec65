/**
 * An instance's file: partitions with messages, their consumption, and further tables. Only the instance's writer, a thread or a
 * process, writes to it, one group commit at a time. `docs/data-layout.md` shows the tables with an example.
 */
import { join } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import { addSqlTransactions, type GroupContent } from '../../model/group-content.ts';
import type { Group, GroupResult, SqlOutcome, SqlTransaction } from '../../model/group-message.ts';
import { groupsPerEpoch } from '../../model/group-number.ts';
import type { Epoch, GroupNumber, InstanceId, PartitionId } from '../../model/ids.ts';
import { poolChangeCount } from '../../model/partitions.ts';
import type { Clock } from '../../model/ports.ts';
import type { RecoveredInstance } from '../../model/recovered-instance.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { TableWrite } from '../../model/table-write.ts';
import type { PreparedBranchRow } from '../../model/xa-rows.ts';
import { xidKey } from '../../model/xid.ts';
import { ApplicationSqlExecutor } from '../application-sql/application-sql-executor.ts';
import { prepareFormat, schemaNamesOf } from '../sqlite/file-format.ts';
import {
  isDiskFull,
  mapSqliteErrors,
  openSqlite,
  type SqliteFile,
  type SqliteStatement,
} from '../sqlite/open-sqlite.ts';
import {
  AcknowledgedNumberFile,
  acknowledgedNumberPath,
  CheckpointScheduler,
} from '../sqlite/write-ahead-log.ts';
import { recoverPartitions } from './recovery/recover-partitions.ts';
import { resyncWal } from './recovery/resync-wal.ts';
import { CorrelationIndexes } from './tables/correlation-index.ts';
import {
  assertNoCommitsMissing,
  raiseEpochSql,
  readEpochSql,
  readLastGroupSql,
  writeLastGroupSql,
} from './tables/last-group.ts';
import {
  BlockWriter,
  ConsumptionWriter,
  createPartitionTable,
  deleteConsumption,
  truncatePartition,
  writeFreePartition,
  writePartitionRow,
} from './tables/partition-table.ts';
import { instanceTables } from './tables/registered-tables.ts';
import { SessionOutcomeWriter } from './tables/session-outcome-table.ts';
import { readBranchesWithRows } from './tables/xa-tables.ts';

/** The names of all tables, indexes and views of the engine, in lower case: others may be the application's. */
export function engineSchemaNames(): Set<string> {
  return schemaNamesOf(instanceTables.schemaSql);
}

export function instanceFilePath(dir: string, instance: InstanceId): string {
  return join(dir, `instance-${instance}.db`);
}

/** Moments of a commit at which its caller is called. */
export interface CommitMoments {
  /** Between the changes to the pool and those to messages. */
  onMaintained?(): void;
  /** All of the group is written in memory: it goes to the log, and is synced, from here on. */
  onSyncing?(): void;
}

/** Runs statements within their time limit; they report the index of each statement that begins. */
export type StatementGuard = (run: (onStatement: (index: number) => void) => SqlOutcome) => SqlOutcome;

/** Steps of a commit's caller around the application's statements, which may be killed with their process. */
export interface StatementSteps {
  /** Runs the statements of the group's transaction with this index, or says why they failed before. */
  run(index: number, execute: (onStatement: (index: number) => void) => SqlOutcome): SqlOutcome;
  /** All of the group is written, and the commit follows. */
  onCommitting(done: CommitDone): void;
}

type CommitDone = Pick<GroupResult, 'unusablePartitions' | 'sqlOutcomes'>;

const runEach: StatementSteps = {
  run: (_index, execute) => execute(() => undefined),
  onCommitting: () => undefined,
};

export class InstanceFile {
  readonly #file: SqliteFile;
  readonly #path: string;
  /** Bounds the time of application statements. */
  readonly #clock: Clock;
  readonly #blockWriter: BlockWriter;
  readonly #correlationIndexes: CorrelationIndexes;
  readonly #checkpoints: CheckpointScheduler;
  readonly #acknowledgedGroup: AcknowledgedNumberFile;
  readonly #selectEpoch: SqliteStatement;
  readonly #writeLastGroup: SqliteStatement;
  readonly #consumption: ConsumptionWriter;
  readonly #sessionOutcomes: SessionOutcomeWriter;
  readonly #applyTableWrite: (write: TableWrite) => void;
  /** Run with the number of a partition that was truncated. */
  readonly #partitionDeletes: SqliteStatement[];
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  #createdSqlExecutor: ApplicationSqlExecutor | undefined;
  #epoch: Epoch = 0;
  #syncMode: Group['sync'] = 'FULL';
  /** A transaction of application statements is open; the next group commits it. */
  #transactionOpen = false;
  /** Each group leaves its number in `meta`, whatever else it writes, so that `resume` finds the last one. */
  #recordsEveryGroup = false;
  /** The last commit included application statements, whose written bytes are not counted. */
  #writtenBytesUnknown = false;

  /** Above `logBytesMax` of write-ahead log, commits throw `LOG_FULL`. */
  constructor(path: string, clock: Clock, logBytesMax?: number) {
    this.#path = path;
    this.#clock = clock;
    assertNoCommitsMissing(path);
    // Another connection writes only for a moment: a process that lost the instance and has not noticed yet.
    this.#file = openSqlite({ path, busyMs: 1_000 });
    mapSqliteErrors(path, () => prepareFormat(this.#file, instanceTables.schemaSql));
    this.#begin = this.#file.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#file.prepare('COMMIT');
    this.#selectEpoch = this.#file.prepare(readEpochSql).pluck();
    this.#writeLastGroup = this.#file.prepare(writeLastGroupSql);
    this.#consumption = new ConsumptionWriter(this.#file);
    this.#sessionOutcomes = new SessionOutcomeWriter(this.#file);
    this.#applyTableWrite = instanceTables.createWriteApplier(this.#file);
    this.#partitionDeletes = instanceTables.preparePartitionDeletes(this.#file);
    this.#blockWriter = new BlockWriter(this.#file);
    this.#correlationIndexes = mapSqliteErrors(path, () => new CorrelationIndexes(this.#file));
    this.#checkpoints = new CheckpointScheduler(this.#file, logBytesMax);
    this.#acknowledgedGroup = mapSqliteErrors(
      path,
      () => new AcknowledgedNumberFile(acknowledgedNumberPath(path)),
    );
  }

  /** Raises the epoch, which fences the process that had the file before, and reads the state to continue from. */
  recover(): RecoveredInstance {
    return mapSqliteErrors(this.#path, () => {
      resyncWal(this.#file);
      this.#file.exec(raiseEpochSql);
      this.#epoch = this.#storedEpoch;
      this.#acknowledgedGroup.writeDurably(this.#epoch * groupsPerEpoch);
      this.#correlationIndexes.renameDamaged(this.#epoch);
      const pool = recoverPartitions(this.#file);
      for (const { partition, terminalDeltas } of pool.partitions) {
        const bySubscriber = Map.groupBy(terminalDeltas, ({ subscriber }) => subscriber);
        for (const [subscriber, rows] of bySubscriber)
          this.#consumption.setRowCount({ partition, subscriber }, rows.length);
      }
      return { epoch: this.#epoch, ...pool, ...instanceTables.recover(this.#file) };
    });
  }

  /**
   * Continues an opening after its former writer has ended, cleanly or not. The epoch and the session thread's knowledge of the
   * file stay valid. Returns the number of the last committed group. The number is exact only for groups since the first `resume`
   * of an opening, so the caller must know that all earlier groups were answered. Throws `INSTANCE_FENCED`.
   */
  resume(epoch: Epoch): GroupNumber {
    return mapSqliteErrors(this.#path, () => {
      resyncWal(this.#file);
      this.takeOver(epoch);
      this.#recordsEveryGroup = true;
      const lastGroup = this.#file.prepare(readLastGroupSql).pluck().get() as GroupNumber | undefined;
      return lastGroup ?? 0; // 0: `meta` has none yet
    });
  }

  /**
   * Continues an opening in place of another writer. All groups of that writer must have been answered; it may later take over
   * again in the same way. `epoch` is the opening's epoch, needed if this object has not recovered the file itself. Throws
   * `INSTANCE_FENCED`.
   */
  takeOver(epoch = this.#epoch): void {
    mapSqliteErrors(this.#path, () => {
      this.#epoch = epoch;
      this.#assertEpoch();
      this.#correlationIndexes.reload();
      this.#consumption.countRows();
    });
  }

  /**
   * Commits a group; with `FULL` it is on disk when this returns. Returns the partitions that are too damaged to be truncated, and
   * the outcomes of application statements.
   */
  commit(group: Group, moments: CommitMoments = {}, statements: StatementSteps = runEach): CommitDone {
    let unusable: PartitionId[] = [];
    let sql: SqlOutcome[] = [];
    this.#writtenBytesUnknown = this.#transactionOpen || group.sqlTransactions.length > 0;
    if (!this.#transactionOpen) this.#beginTransaction(group.sync);
    this.#transactionOpen = false;
    try {
      this.#assertEpoch();
      unusable = this.#applyPoolChanges(group.poolChanges);
      moments.onMaintained?.();
      const preparedRows: PreparedBranchRow[] = [];
      sql = group.sqlTransactions.map((transaction, index) =>
        statements.run(index, (onStatement) => {
          const { outcome, prepared } = this.#runSqlTransaction(transaction, onStatement);
          if (prepared !== undefined) preparedRows.push(prepared);
          return outcome;
        }),
      );
      let content = contentOf(group);
      if (sql.length > 0) content = addSqlTransactions(content, group, sql);
      // What a branch keeps of its statements is known only now that they have run.
      for (const row of preparedRows) content.tableWrites.push({ kind: 'prepare branch', row });
      for (const block of content.blocks) {
        const body = Buffer.from(group.buffer, block.offset, block.length);
        this.#blockWriter.write(block, group.groupNumber, body);
        if (this.#correlationIndexes.partitions.has(block.partition))
          this.#correlationIndexes.write(block, body);
      }
      for (const delta of content.consumptionDeltas)
        this.#consumption.write(delta, group.groupNumber, delta.ranges);
      const { outcomes } = content;
      if (outcomes.length + outcomes.retiredThroughGroup > 0)
        this.#sessionOutcomes.writeGroup(group.groupNumber, group.buffer, outcomes);
      for (const write of content.tableWrites) {
        this.#applyTableWrite(write);
        // Not the table's to do: the locks of a branch are in memory, for the statements that run here.
        if (write.kind === 'end branch') this.#createdSqlExecutor?.prepared.locks.release(xidKey(write.key));
      }
      if (this.#recordsEveryGroup || needsGroupRecord(content, group.poolChanges))
        this.#writeLastGroup.run(group.groupNumber);
      statements.onCommitting({ unusablePartitions: unusable, sqlOutcomes: sql });
      moments.onSyncing?.();
      this.#commit.run();
    } catch (error) {
      if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
      this.#createdSqlExecutor?.onGroupUndone();
      if (group.poolChanges.assign.length > 0) this.#correlationIndexes.reload();
      // The disk may have no space for the log to grow: after a checkpoint SQLite writes it from its start again.
      if (isDiskFull(error)) this.#checkpoints.runPassive();
      throw error;
    }
    // A relaxed group may be lost in a power cut, so its absence must not count as damage.
    if (group.sync === 'FULL') this.#acknowledgedGroup.write(group.groupNumber);
    return { unusablePartitions: unusable, sqlOutcomes: sql };
  }

  #beginTransaction(sync: Group['sync']): void {
    this.#checkpoints.assertLogFits();
    if (sync !== this.#syncMode) {
      this.#file.pragma(`synchronous = ${sync}`); // SQLite refuses this inside a transaction
      this.#syncMode = sync;
    }
    this.#begin.run();
  }

  /**
   * Runs an application statement in a transaction that stays open until the next group commits with it (synced `FULL`)
   * or `rollBackStatements` undoes it. A failed statement undoes only itself. Throws if the whole transaction is undone.
   * `guard` limits the statement alone, without a wait for the file's lock before it.
   */
  executeStatement(
    statement: SqlStatement,
    guard: StatementGuard = (run) => run(() => undefined),
  ): SqlOutcome {
    try {
      if (!this.#transactionOpen) {
        this.#beginTransaction('FULL');
        this.#transactionOpen = true;
        this.#assertEpoch();
      }
      return guard((onStatement) => this.#sqlExecutor.run([statement], onStatement));
    } catch (error) {
      this.rollBackStatements();
      throw error;
    }
  }

  /** Undoes all statements since the last commit. */
  rollBackStatements(): void {
    if (!this.#transactionOpen) return;
    this.#transactionOpen = false;
    if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
    this.#createdSqlExecutor?.onGroupUndone();
  }

  /** Created at first use: most instances have no application tables. */
  get #sqlExecutor(): ApplicationSqlExecutor {
    this.#createdSqlExecutor ??= new ApplicationSqlExecutor({
      file: this.#file,
      engineNames: engineSchemaNames(),
      clock: this.#clock,
      readPreparedBranches: (only) => readBranchesWithRows(this.#file, only),
    });
    return this.#createdSqlExecutor;
  }

  /** `prepared`: the row of a branch that has work to keep. */
  #runSqlTransaction(
    { statements, branch }: SqlTransaction,
    onStatement: (index: number) => void,
  ): { outcome: SqlOutcome; prepared?: PreparedBranchRow } {
    const executor = this.#sqlExecutor;
    if (branch === undefined) return { outcome: executor.run(statements, onStatement) };
    if (branch.kind === 'commit') return { outcome: executor.commitBranch(branch.key) };
    const { row, hasMessages } = branch;
    const { outcome, rows } = executor.prepareBranch(xidKey(row), statements, onStatement);
    const isKept = outcome.failure === null && (hasMessages || rows !== '');
    return isKept ? { outcome, prepared: { ...row, rows } } : { outcome };
  }

  /** Call after each commit, once it is acknowledged. Throws if a checkpoint failed: then nothing more may be written. */
  checkpoint(group: Group): void {
    // An unknown number of bytes makes the scheduler check the size of the log.
    const start = this.#writtenBytesUnknown ? Number.POSITIVE_INFINITY : 0;
    let bytes = group.blocks.reduce((sum, block) => sum + block.length, start);
    for (const write of group.tableWrites) bytes += instanceTables.bodyBytesOf(write);
    this.#checkpoints.afterCommit(bytes);
  }

  /** A process that lost the instance must not write to it. */
  #assertEpoch(): void {
    const found = this.#storedEpoch;
    if (found === this.#epoch) return;
    throw new QueueError('INSTANCE_FENCED', { details: { epoch: this.#epoch, found } });
  }

  get #storedEpoch(): Epoch {
    return this.#selectEpoch.get() as Epoch;
  }

  /** Returns the partitions that are too damaged to be truncated; they are never used again. */
  #applyPoolChanges({ create, truncate, assign }: Group['poolChanges']): PartitionId[] {
    const file = this.#file;
    const indexes = this.#correlationIndexes;
    for (const partition of create) {
      createPartitionTable(file, partition);
      writeFreePartition(file, partition);
    }
    const unusable: PartitionId[] = [];
    for (const partition of truncate) {
      const indexSql = indexes.partitions.has(partition) ? indexes.truncateSql(partition) : '';
      if (!truncatePartition(file, partition, indexSql)) {
        unusable.push(partition);
        continue;
      }
      for (const statement of this.#partitionDeletes) statement.run(partition);
      this.#consumption.forgetPartition(partition);
      writeFreePartition(file, partition);
    }
    for (const assignment of assign) {
      const { partition, hasCorrelationIndex } = assignment;
      deleteConsumption(file, partition);
      if (indexes.partitions.has(partition) !== hasCorrelationIndex) indexes.setIndexed(assignment);
      writePartitionRow(file, assignment);
    }
    return unusable;
  }

  close(): void {
    this.#file.close();
    this.#acknowledgedGroup.close();
  }
}

/** The content of the group without its transactions that have application statements. */
function contentOf({ buffer, blocks, consumptionDeltas, tableWrites, outcomes }: Group): GroupContent {
  const deltas = consumptionDeltas.map(({ partition, subscriber, offset, length }) => ({
    partition,
    subscriber,
    ranges: Buffer.from(buffer, offset, length),
  }));
  return { blocks, consumptionDeltas: deltas, tableWrites, outcomes };
}

/** True: it is possible that no row of the file has this group's number, so `meta` must hold it (`last-group.ts`). */
function needsGroupRecord(
  { blocks, consumptionDeltas, tableWrites }: GroupContent,
  pool: Group['poolChanges'],
): boolean {
  return poolChangeCount(pool) + tableWrites.length > 0 || blocks.length + consumptionDeltas.length === 0;
}
