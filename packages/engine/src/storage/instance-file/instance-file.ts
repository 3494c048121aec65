/**
 * An instance's file: partitions with messages, their consumption, and further tables. Only the instance's applier, a thread or a
 * process, writes to it: groups of the redo log, many at once, and groups with statements of the application, one at a time.
 * `docs/data-layout.md` shows the tables with an example.
 */
import { statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import type { AppliedGroups, AppliedWork } from '../../model/applied-groups.ts';
import { addSqlTransactions, type GroupContent } from '../../model/group-content.ts';
import type {
  EncodedOutcomes,
  Group,
  GroupResult,
  SqlOutcome,
  SqlTransaction,
} from '../../model/group-message.ts';
import { formatGroupNumber, groupsPerEpoch } from '../../model/group-number.ts';
import type { Epoch, GroupNumber, InstanceId, PartitionId, Seq, SubscriberId } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { RecoveredInstance, RecoveredRedoLog } from '../../model/recovered-instance.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { TableWrite } from '../../model/table-write.ts';
import type { PreparedBranchRow } from '../../model/xa-rows.ts';
import { xidKey } from '../../model/xid.ts';
import { ApplicationSqlExecutor } from '../application-sql/application-sql-executor.ts';
import { assertClaimMet, highestClaim } from '../redo/check-claims.ts';
import { decodeGroup, type LoggedGroup } from '../redo/encode-group.ts';
import { openSegments, type StoredRedoLog } from '../redo/log-end.ts';
import { LogReader, logStart } from '../redo/log-reader.ts';
import {
  beginSegment,
  closeSegment,
  fillSegment,
  type OpenSegment,
  openSegment,
  type SegmentRow,
} from '../redo/segment-files.ts';
import { prepareFormat, schemaNamesOf } from '../sqlite/file-format.ts';
import {
  isDiskFull,
  mapSqliteErrors,
  openSqlite,
  type SqliteFile,
  type SqliteStatement,
  toQueueError,
} from '../sqlite/open-sqlite.ts';
import {
  AcknowledgedNumberFile,
  acknowledgedNumberPath,
  CheckpointScheduler,
} from '../sqlite/write-ahead-log.ts';
import { type AppliedBlock, NetEffect } from './net-effect.ts';
import { recoverPartitions } from './recovery/recover-partitions.ts';
import { resyncWal } from './recovery/resync-wal.ts';
import { CorrelationIndexes } from './tables/correlation-index.ts';
import {
  assertNoCommitsMissing,
  findLastGroup,
  raiseEpochSql,
  raiseEpochTo,
  readEpochSql,
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
import {
  endLog,
  newLogId,
  RedoTableWriter,
  readLastGroupSql,
  readRedoLog,
  writeLastGroupSql,
} from './tables/redo-tables.ts';
import { instanceTables } from './tables/registered-tables.ts';
import { SessionOutcomeWriter } from './tables/session-outcome-table.ts';
import { subscriptionsOfPartitionSql } from './tables/subscription-table.ts';
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

/** Writes that read or delete what earlier groups wrote to partitions and consumption. */
const needsPartitions: readonly TableWrite['kind'][] = ['evacuate', 'unsubscribe', 'delete queue'];

/** Bytes of groups that are applied in one transaction: enough that its sync and its pages are shared by many. */
const applyBytesMax = 8 * 1024 * 1024;

/** Left on the disk when a log grows: about three times the write-ahead log of a file under full load. */
const bytesForTables = 128 * 1024 * 1024;

const firstSegments = [1024 * 1024, 1024 * 1024] as const;

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
  readonly #selectLastGroup: SqliteStatement;
  readonly #writeLastGroup: SqliteStatement;
  readonly #consumption: ConsumptionWriter;
  readonly #sessionOutcomes: SessionOutcomeWriter;
  readonly #applyTableWrite: (write: TableWrite) => void;
  /** Run with the number of a partition that was truncated. */
  readonly #partitionDeletes: SqliteStatement[];
  readonly #redo: RedoTableWriter;
  readonly #netEffect = new NetEffect({
    firstSeqOf: (partition) => this.#selectFirstSeq.get(partition) as Seq,
    subscriptionsOf: (partition) =>
      this.#selectSubscriptions.all(partition) as { subscriber: SubscriberId; firstSeq: Seq }[],
    writeBlock: (block, groupNumber, body) => this.#writeBlock(block, groupNumber, body),
    writeConsumption: (key, groupNumber, ranges) =>
      this.#consumption.write(key, groupNumber, Buffer.from(ranges)),
  });
  readonly #selectFirstSeq: SqliteStatement;
  readonly #selectSubscriptions: SqliteStatement;
  /** Of groups that are applied; said once, by the first call of `applyLog` that succeeds. */
  readonly #newlyUnusable: PartitionId[] = [];
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  #createdSqlExecutor: ApplicationSqlExecutor | undefined;
  #epoch: Epoch = 0;
  #syncMode: Group['sync'] = 'FULL';
  /** A transaction of application statements is open; the next group commits it. */
  #transactionOpen = false;
  /** The last commit included application statements, whose written bytes are not counted. */
  #writtenBytesUnknown = false;

  /**
   * Above `logBytesMax` of write-ahead log, commits throw `LOG_FULL`. `epochKnown`: of the last opening that somebody else knows of.
   * `acceptsLoss`: acknowledged commits may be missing.
   */
  constructor(
    path: string,
    clock: Clock,
    {
      logBytesMax,
      epochKnown,
      acceptsLoss = false,
    }: { logBytesMax?: number; epochKnown?: Epoch; acceptsLoss?: boolean } = {},
  ) {
    this.#path = path;
    this.#clock = clock;
    if (!acceptsLoss) assertNoCommitsMissing(path, epochKnown);
    // Another connection writes only for a moment: a process that lost the instance and has not noticed yet.
    this.#file = openSqlite({ path, busyMs: 1_000 });
    mapSqliteErrors(path, () => prepareFormat(this.#file, instanceTables.schemaSql));
    this.#redo = new RedoTableWriter(this.#file);
    this.#begin = this.#file.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#file.prepare('COMMIT');
    this.#selectEpoch = this.#file.prepare(readEpochSql).pluck();
    this.#selectLastGroup = this.#file.prepare(readLastGroupSql).pluck();
    this.#writeLastGroup = this.#file.prepare(writeLastGroupSql);
    this.#selectSubscriptions = this.#file.prepare(subscriptionsOfPartitionSql);
    this.#selectFirstSeq = this.#file.prepare('SELECT first_seq FROM partition WHERE partition = ?').pluck();
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

  /**
   * Raises the epoch, which fences the process that had the file before, applies what the redo log has, and reads the state to continue
   * from.
   */
  recover(): RecoveredInstance {
    return mapSqliteErrors(this.#path, () => {
      resyncWal(this.#file);
      this.#file.exec(raiseEpochSql);
      this.#epoch = this.#storedEpoch;
      const redo = this.#recoverLog();
      // Where the tables lost their own log, they have forgotten the opening whose groups they have just been given again.
      raiseEpochTo(this.#file, Math.floor(redo.end.group / groupsPerEpoch) + 1);
      this.#epoch = this.#storedEpoch;
      this.#correlationIndexes.renameDamaged(this.#epoch);
      this.#acknowledgedGroup.writeDurably(this.#epoch * groupsPerEpoch);
      const pool = recoverPartitions(this.#file);
      for (const { partition, terminalDeltas } of pool.partitions) {
        const bySubscriber = Map.groupBy(terminalDeltas, ({ subscriber }) => subscriber);
        for (const [subscriber, rows] of bySubscriber)
          this.#consumption.setRowCount({ partition, subscriber }, rows.length);
      }
      return { epoch: this.#epoch, redo, ...pool, ...instanceTables.recover(this.#file) };
    });
  }

  /**
   * For a repair: applies what of the redo log can be read. Returns the last group that it says was synced, and what is lost, in
   * sentences.
   */
  applyReadableLog(): { claimed: GroupNumber; lost: string[] } {
    const log = mapSqliteErrors(this.#path, () => readRedoLog(this.#file));
    if (log === undefined) return { claimed: 0, lost: [] };
    resyncWal(this.#file);
    this.#epoch = this.#storedEpoch;
    const lost: string[] = [];
    const segments: OpenSegment[] = [];
    try {
      for (const row of log.segments) {
        try {
          segments.push(openSegment(this.#path, row));
        } catch (error) {
          lost.push((error as Error).message);
        }
      }
      const claimed = highestClaim(log.logId, segments);
      const reader = new LogReader(log.logId, segments, log.applied, log.inTables);
      try {
        this.applyLog(reader, log.logId);
      } catch (error) {
        const { code, message } = toQueueError(error, this.#path);
        if (code === 'STORAGE_FULL') throw error;
        const last = formatGroupNumber(reader.position.end.group);
        lost.push(`Nothing behind group ${last} of the redo log of ${this.#path} can be applied: ${message}`);
      }
      return { claimed, lost };
    } finally {
      for (const segment of segments) closeSegment(segment);
    }
  }

  /**
   * For a copy of another file: applies what that one's redo log has behind these tables, and ends the log. Throws `COMMITS_MISSING` if
   * the log does not reach the group `acknowledged`, or proves that more was synced: it was written over meanwhile, or is damaged.
   */
  takeLogOf(path: string, acknowledged: GroupNumber): void {
    this.#epoch = this.#storedEpoch;
    const log = mapSqliteErrors(this.#path, () => readRedoLog(this.#file));
    if (log === undefined) return;
    const segments = openSegments(path, log);
    try {
      const claimed = Math.max(acknowledged, highestClaim(log.logId, segments));
      this.applyLog(new LogReader(log.logId, segments, log.applied, log.inTables), log.logId);
      assertClaimMet(path, claimed, findLastGroup(this.#file).number);
      mapSqliteErrors(this.#path, () => this.#file.transaction(() => endLog(this.#file))());
    } finally {
      for (const segment of segments) closeSegment(segment);
    }
  }

  /** All segments are free when this returns. */
  #recoverLog(): RecoveredRedoLog {
    const log = readRedoLog(this.#file) ?? this.#createLog();
    const { logId } = log;
    const segments = openSegments(this.#path, log);
    try {
      const reader = new LogReader(logId, segments, log.applied, log.inTables);
      this.applyLog(reader, logId);
      const { turn, end } = reader.position;
      return { logId, segments: log.segments, turn, end, inTables: this.#lastGroup };
    } finally {
      for (const segment of segments) closeSegment(segment);
    }
  }

  /** The log of a new file: two small segments, so that an empty queue stays small. */
  #createLog(): StoredRedoLog {
    const log = { logId: newLogId(this.#file), applied: logStart, inTables: this.#lastGroup, segments: [] };
    this.#file.exec('BEGIN IMMEDIATE');
    this.#redo.writePosition(log.logId, logStart);
    this.#file.exec('COMMIT');
    const segments = firstSegments.map((bytes, number) => this.#addSegment({ number, bytes }));
    return { ...log, segments };
  }

  /** Throws `STORAGE_FULL` also if the tables would have no room then for what the log has. Otherwise as `#addSegment`. */
  growLog(segment: SegmentRow): void {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    if (bavail * bsize < segment.bytes + bytesForTables)
      throw new QueueError('STORAGE_FULL', { details: { path: this.#path } });
    this.#addSegment(segment);
  }

  /**
   * Makes a further segment of the redo log. It is listed, durably, when this returns. Nothing is done if it is listed already, by a
   * process that ended before it could say so. The file is made while no other process can have taken the instance over: a later one
   * might have a segment of this number, with records in it.
   */
  #addSegment(segment: SegmentRow): SegmentRow {
    return mapSqliteErrors(this.#path, () => {
      const isListed = () =>
        readRedoLog(this.#file)?.segments.some(({ number }) => number === segment.number);
      const begun = this.#whileOwned(() => (isListed() ? undefined : beginSegment(this.#path, segment)));
      if (begun === undefined) return segment;
      fillSegment(this.#path, begun);
      this.#whileOwned(() => this.#redo.addSegment(segment));
      return segment;
    });
  }

  /** In a transaction. Throws `INSTANCE_FENCED`. */
  #whileOwned<T>(work: () => T): T {
    this.#beginTransaction('FULL');
    try {
      this.#assertEpoch();
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * Continues an opening after its former writer has ended, cleanly or not. The epoch and the session thread's knowledge of the
   * file stay valid. Returns what the tables have of the redo log, and the last group in them. Throws `INSTANCE_FENCED`.
   */
  resume(epoch: Epoch): StoredRedoLog {
    return mapSqliteErrors(this.#path, () => {
      resyncWal(this.#file);
      this.takeOver(epoch);
      return readRedoLog(this.#file)!; // the opening has written it
    });
  }

  /**
   * Continues an opening with this epoch in place of another connection, which has ended. Throws `INSTANCE_FENCED`.
   */
  takeOver(epoch: Epoch): void {
    mapSqliteErrors(this.#path, () => {
      this.#epoch = epoch;
      this.#assertEpoch();
      this.#correlationIndexes.reload();
      this.#consumption.countRows();
    });
  }

  /** 0: they have none yet. */
  get #lastGroup(): GroupNumber {
    return (this.#selectLastGroup.get() as GroupNumber | undefined) ?? 0;
  }

  /**
   * Commits a group past the redo log, which must be applied up to it; with `FULL` it is on disk when this returns. Returns the
   * partitions that are too damaged to be truncated, and the outcomes of application statements.
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
      this.#writeContent(group.groupNumber, group.buffer, content);
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
    return { unusablePartitions: unusable, sqlOutcomes: sql };
  }

  /**
   * Writes the groups of the redo log behind the last one that is applied, up to `through`, which must be there, in transactions of
   * about `applyBytesMax`. They are on disk when this returns. After an error some of them may be, and the next call continues.
   * `onCommitting` is called before a commit after which partitions cannot be used: the process may end between the commit and the
   * answer.
   */
  applyLog(
    reader: LogReader,
    logId: Uint8Array,
    through?: GroupNumber,
    onCommitting?: (unusablePartitions: PartitionId[]) => void,
  ): AppliedGroups & { work: AppliedWork } {
    reader.refresh();
    const work: AppliedWork = { transactions: 0, ms: 0, messages: 0, storedMessages: 0 };
    for (let bytes = -1; bytes !== 0; ) {
      bytes = this.#applySome(reader, logId, { through, onCommitting, work });
      if (bytes > 0) this.#checkpoints.afterCommit(bytes);
    }
    reader.assertNoneRequired(this.#path);
    const { group: found } = reader.position.end;
    if (through !== undefined && found < through)
      throw new QueueError('COMMITS_MISSING', {
        message: `Group ${formatGroupNumber(through)} was written, and the redo log of ${this.#path} ends with group ${formatGroupNumber(found)}`,
        details: { path: this.#path, found, acknowledged: through },
      });
    return { through: found, unusablePartitions: this.#newlyUnusable.splice(0), work };
  }

  /** Returns the bytes of the groups; 0 if there was none. */
  #applySome(
    reader: LogReader,
    logId: Uint8Array,
    {
      through,
      onCommitting,
      work,
    }: {
      through: GroupNumber | undefined;
      onCommitting: ((unusablePartitions: PartitionId[]) => void) | undefined;
      work: AppliedWork;
    },
  ): number {
    const start = reader.position;
    const startedAtMs = this.#clock.monotonicMs();
    reader.inTables = this.#lastGroup;
    let record = reader.next(through);
    if (record === undefined) return 0;
    const unusable: PartitionId[] = [];
    let bytes = 0;
    try {
      this.#beginTransaction('FULL');
      this.#assertEpoch();
      for (; record !== undefined; record = bytes < applyBytesMax ? reader.next(through) : undefined) {
        unusable.push(...this.#applyGroup(record.group, decodeGroup(record.content)));
        bytes += record.content.length;
      }
      this.#netEffect.write();
      const { position } = reader;
      this.#writeLastGroup.run(position.end.group);
      this.#redo.writePosition(logId, position);
      if (unusable.length > 0) onCommitting?.(unusable);
      this.#commit.run();
      this.#newlyUnusable.push(...unusable);
      work.transactions += 1;
      work.ms += this.#clock.monotonicMs() - startedAtMs;
      work.messages += this.#netEffect.messages;
      work.storedMessages += this.#netEffect.storedMessages;
      this.#netEffect.clear();
      return bytes;
    } catch (error) {
      if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
      this.#netEffect.clear();
      reader.seek(start);
      this.#createdSqlExecutor?.onGroupUndone();
      this.#correlationIndexes.reload();
      if (isDiskFull(error)) this.#checkpoints.runPassive();
      throw error;
    }
  }

  /** Returns the partitions that are too damaged to be truncated. */
  #applyGroup(
    groupNumber: GroupNumber,
    { buffer, blocks, consumptionDeltas, outcomes, tableWrites, poolChanges }: LoggedGroup,
  ): PartitionId[] {
    if (tableWrites.some(({ kind }) => needsPartitions.includes(kind))) this.#netEffect.write();
    for (const partition of poolChanges.truncate) this.#netEffect.onTruncated(partition);
    const unusable = this.#applyPoolChanges(poolChanges);
    for (const block of blocks)
      this.#netEffect.addBlock(block, groupNumber, Buffer.from(buffer, block.offset, block.length));
    for (const { offset, length, ...key } of consumptionDeltas)
      this.#netEffect.addConsumption(key, groupNumber, Buffer.from(buffer, offset, length));
    this.#writeOthers(groupNumber, buffer, outcomes, tableWrites);
    return unusable;
  }

  #writeContent(
    groupNumber: GroupNumber,
    buffer: SharedArrayBuffer,
    { blocks, consumptionDeltas, outcomes, tableWrites }: GroupContent,
  ): void {
    for (const block of blocks)
      this.#writeBlock(block, groupNumber, Buffer.from(buffer, block.offset, block.length));
    for (const delta of consumptionDeltas) this.#consumption.write(delta, groupNumber, delta.ranges);
    this.#writeOthers(groupNumber, buffer, outcomes, tableWrites);
  }

  #writeBlock(block: AppliedBlock, groupNumber: GroupNumber, body: Buffer): void {
    this.#blockWriter.write(block, groupNumber, body);
    if (body.byteLength > 0 && this.#correlationIndexes.partitions.has(block.partition))
      this.#correlationIndexes.write(block, body);
  }

  #writeOthers(
    groupNumber: GroupNumber,
    buffer: SharedArrayBuffer,
    outcomes: EncodedOutcomes,
    tableWrites: readonly TableWrite[],
  ): void {
    if (outcomes.length + outcomes.retiredThroughGroup > 0)
      this.#sessionOutcomes.writeGroup(groupNumber, buffer, outcomes);
    for (const write of tableWrites) {
      this.#applyTableWrite(write);
      // Not the table's to do: the locks of a branch are in memory, for the statements that run here.
      if (write.kind === 'end branch') this.#createdSqlExecutor?.prepared.locks.release(xidKey(write.key));
    }
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
function contentOf({
  buffer,
  blocks,
  consumptionDeltas,
  tableWrites,
  outcomes,
}: Pick<Group, 'buffer' | 'blocks' | 'consumptionDeltas' | 'tableWrites' | 'outcomes'>): GroupContent {
  const deltas = consumptionDeltas.map(({ partition, subscriber, offset, length }) => ({
    partition,
    subscriber,
    ranges: Buffer.from(buffer, offset, length),
  }));
  return { blocks, consumptionDeltas: deltas, tableWrites, outcomes };
}
