/**
 * An instance's file: the pool of partition tables, which shard has which, and what is consumed. Only the writer
 * thread writes to it. `docs/data-layout.md` shows the tables with an example.
 */
import { join } from 'node:path';
import { decodeRanges, encodeRanges, mergeRanges } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import { Acknowledged, acknowledgedPath } from './acknowledged.ts';
import { ApplicationSql } from './application-sql.ts';
import { deleteAttempts } from './attempt-table.ts';
import { Checkpoints } from './checkpoint.ts';
import { deltaChecksum, poolChecksum } from './checksum.ts';
import { CorrelationIndexes } from './correlation-index.ts';
import { countDelayed, readDue } from './delayed-table.ts';
import { type FormatStep, migrate, namesOf } from './format.ts';
import { forwardingStep, readBorrowed, readLent } from './forwarding-table.ts';
import { contentOf, type GroupContent } from './group-content.ts';
import type { DeltaEntry, Group, GroupResult, RecoveredInstance, SqlOutcome } from './group-message.ts';
import { assertAcknowledged, groupsPerEpoch } from './last-group.ts';
import { addBlockChecksums, BlockWriter, createPartition, truncatePartition } from './partition-table.ts';
import { ChunkWriter, payloadStep, recoverPayloads } from './payload-table.ts';
import { type PoolRow, recoverPartitions } from './recover-partitions.ts';
import { resyncLog } from './resync-log.ts';
import { deletePartitionSample } from './sample-table.ts';
import { SessionOutcomes, sessionOutcomeStep } from './session-outcome.ts';
import { applySideChange, monitoringStep, sideTables } from './side-change.ts';
import { isFull, mapSqliteErrors, openSqlite, type SqliteFile, type SqliteStatement } from './sqlite.ts';
import { readStragglers } from './straggler-table.ts';
import { readSubscriptions } from './subscription-table.ts';

const steps: readonly FormatStep[] = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta (key, value) VALUES ('epoch', 0);
  CREATE TABLE partition (
    partition INTEGER PRIMARY KEY, -- its messages lie in the table partition_<number>
    queue_id INTEGER,              -- NULL: free
    shard INTEGER,
    first_seq INTEGER              -- numbers below it are terminal or lie in an earlier partition of the shard
  ) STRICT;
  CREATE TABLE consumption (
    partition INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,   -- 0: the one consumer of a queue
    group_no INTEGER NOT NULL,     -- the group commit that it was made durable with
    ranges BLOB NOT NULL,
    PRIMARY KEY (partition, subscriber, group_no)
  ) STRICT, WITHOUT ROWID;`,
  (file) => {
    file.exec(sessionOutcomeStep);
    file.exec(sideTables);
    addBlockChecksums(file);
    // NULL: written by version 1
    file.exec('ALTER TABLE consumption ADD COLUMN crc INTEGER; ALTER TABLE partition ADD COLUMN crc INTEGER');
  },
  [forwardingStep, payloadStep, monitoringStep].join('\n'),
];

/** The names of all that a new file has, in lower case: what is called otherwise may be the application's. */
export function instanceNames(): Set<string> {
  return namesOf(steps);
}

/**
 * Deltas of a partition and subscriber are joined into one row past a bound, so that truncating and recovery stay short:
 * 256 for the one consumer of a queue, and fewer where many subscribers share a partition.
 */
const deltasMax = 256;
const deltasOfAllMax = 4_096;
const deltasMin = 16;

export function instancePath(dir: string, instance: number): string {
  return join(dir, `instance-${instance}.db`);
}

/** The owner of a free partition. */
const nobody = { queueId: null, shard: null, firstSeq: null };

export class InstanceFile {
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #blocks: BlockWriter;
  readonly #indexes: CorrelationIndexes;
  readonly #chunks: ChunkWriter;
  readonly #checkpoints: Checkpoints;
  readonly #acknowledged: Acknowledged;
  /** By partition and subscriber: how many rows of consumption there are. */
  readonly #deltaCount = new Map<number, Map<number, number>>();
  readonly #insertDelta: SqliteStatement;
  readonly #readEpoch: SqliteStatement;
  readonly #outcomes: SessionOutcomes;
  readonly #noteGroup: SqliteStatement;
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  #applicationSql: ApplicationSql | undefined;
  #epoch = 0;
  #sync: Group['sync'] = 'FULL';
  /** A transaction is open that the next group goes on in. */
  #held = false;
  /** The last commit wrote what nobody counted. */
  #uncounted = false;

  constructor(path: string) {
    this.#path = path;
    assertAcknowledged(path);
    // Another connection writes here only for a moment, while a process that lost the instance finds out.
    this.#file = openSqlite({ path, busyMs: 1_000 });
    mapSqliteErrors(path, () => migrate(this.#file, steps));
    this.#insertDelta = this.#file.prepare(
      'INSERT INTO consumption (partition, subscriber, group_no, ranges, crc) VALUES (?, ?, ?, ?, ?)',
    );
    this.#noteGroup = this.#file.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('group', ?)");
    this.#begin = this.#file.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#file.prepare('COMMIT');
    this.#readEpoch = this.#file.prepare("SELECT value FROM meta WHERE key = 'epoch'").pluck();
    this.#outcomes = new SessionOutcomes(this.#file);
    this.#blocks = new BlockWriter(this.#file);
    this.#indexes = mapSqliteErrors(path, () => new CorrelationIndexes(this.#file));
    this.#chunks = new ChunkWriter(this.#file);
    this.#checkpoints = new Checkpoints(this.#file);
    this.#acknowledged = mapSqliteErrors(path, () => new Acknowledged(acknowledgedPath(path)));
  }

  /** Raises the epoch, which shuts out whoever had the file before, and reads what is needed to go on. */
  recover(): RecoveredInstance {
    return mapSqliteErrors(this.#path, () => {
      resyncLog(this.#file);
      this.#file.exec("BEGIN IMMEDIATE; UPDATE meta SET value = value + 1 WHERE key = 'epoch'; COMMIT");
      this.#epoch = this.#readEpoch.get() as number;
      this.#acknowledged.noteDurably(this.#epoch * groupsPerEpoch);
      this.#indexes.setDamagedAside(this.#epoch);
      const pool = recoverPartitions(this.#file);
      for (const { partition, terminal } of pool.partitions) {
        const bySubscriber = Map.groupBy(terminal, ({ subscriber }) => subscriber);
        for (const [subscriber, rows] of bySubscriber) this.#deltasOf(partition).set(subscriber, rows.length);
      }
      return {
        epoch: this.#epoch,
        ...pool,
        outcomes: this.#outcomes.read(),
        subscriptions: readSubscriptions(this.#file),
        lent: readLent(this.#file),
        borrowed: readBorrowed(this.#file),
        delayed: countDelayed(this.#file),
        stragglers: readStragglers(this.#file),
        payloads: recoverPayloads(this.#file),
        nextDueAtMs: readDue(this.#file, { nowMs: 0, bytesMax: 0 }).nextDueAtMs,
      };
    });
  }

  /**
   * Applies a group and syncs it; a FULL one may be acknowledged when this returns. `onMaintained` is called between the
   * work on the pool and that on messages. Returns the partitions that are too damaged to be emptied, and how the
   * application's statements ended.
   */
  commit(group: Group, onMaintained: () => void): Pick<GroupResult, 'unusable' | 'sql'> {
    let unusable: number[] = [];
    let sql: SqlOutcome[] = [];
    this.#uncounted = this.#held || group.sql.length > 0;
    if (!this.#held) this.#beginFor(group.sync);
    this.#held = false;
    try {
      this.#assertEpoch();
      unusable = this.#applyPool(group.pool);
      onMaintained();
      sql = group.sql.map(({ statements }) => this.#application.run(statements));
      const content = contentOf(group, sql);
      for (const block of content.blocks) {
        const body = Buffer.from(group.buffer, block.offset, block.length);
        this.#blocks.write(block, group.no, body);
        this.#indexes.write(block, body);
      }
      for (const delta of content.deltas) {
        this.#writeDelta(delta, group.no, delta.ranges);
        this.#countDelta(delta, group.no);
      }
      this.#outcomes.apply(group.no, group.buffer, content.outcomes);
      for (const change of content.side) {
        if (change.kind === 'chunk') this.#chunks.write(change.place, bufferOf(change.body));
        else applySideChange(this.#file, change);
      }
      if (leavesNoTrace(content, group.pool)) this.#noteGroup.run(group.no);
      this.#commit.run();
    } catch (error) {
      if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
      if (this.#uncounted || poolSize(group.pool) > 0) this.#applicationSql?.forget();
      if (group.pool.assign.length > 0) this.#indexes.rolledBack();
      // The log may have no room to grow where the file has: emptied, it is used again from its start.
      if (isFull(error)) this.#checkpoints.now();
      throw error;
    }
    // A relaxed group may be gone after a power cut without anything being wrong.
    if (group.sync === 'FULL') this.#acknowledged.note(group.no);
    return { unusable, sql };
  }

  #beginFor(sync: Group['sync']): void {
    if (sync !== this.#sync) {
      this.#file.pragma(`synchronous = ${sync}`); // SQLite refuses this inside a transaction
      this.#sync = sync;
    }
    this.#begin.run();
  }

  /**
   * Runs a statement of the application in a transaction that stays open until the next group is committed with it, or
   * until it is released; its group syncs FULL. A statement that fails is undone by itself. Throws what has undone all.
   */
  execute(statement: SqlStatement): SqlOutcome {
    try {
      if (!this.#held) {
        this.#beginFor('FULL');
        this.#held = true;
        this.#assertEpoch();
      }
      return this.#application.run([statement]);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Undoes what was executed since the last commit. */
  release(): void {
    if (!this.#held) return;
    this.#held = false;
    if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
    this.#applicationSql?.forget();
  }

  /** Made when it is first used: most instances have no tables of an application. */
  get #application(): ApplicationSql {
    this.#applicationSql ??= new ApplicationSql(this.#file, instanceNames());
    return this.#applicationSql;
  }

  /** To be called after each commit, once it is acknowledged. Throws if a checkpoint failed: nothing more may be written. */
  checkpoint(group: Group): void {
    // What statements of the application write, nobody counts: then the log is looked at.
    const start = this.#uncounted ? Number.POSITIVE_INFINITY : 0;
    let bytes = group.blocks.reduce((sum, block) => sum + block.length, start);
    for (const change of group.side) if (change.kind === 'chunk') bytes += change.body.byteLength;
    mapSqliteErrors(this.#path, () => this.#checkpoints.afterCommit(bytes));
  }

  #assertEpoch(): void {
    const epoch = this.#readEpoch.get() as number;
    if (epoch === this.#epoch) return;
    throw new QueueError('INSTANCE_FENCED', { details: { epoch: this.#epoch, found: epoch } });
  }

  #applyPool({ create, assign, truncate }: Group['pool']): number[] {
    const unusable: number[] = [];
    for (const partition of create) {
      createPartition(this.#file, partition);
      this.#setOwner({ partition, ...nobody });
    }
    for (const partition of truncate) {
      if (!truncatePartition(this.#file, partition, this.#indexes.emptying(partition))) {
        unusable.push(partition);
        continue;
      }
      this.#file.prepare('DELETE FROM consumption WHERE partition = ?').run(partition);
      deleteAttempts(this.#file, partition);
      deletePartitionSample(this.#file, partition);
      this.#setOwner({ partition, ...nobody });
      this.#deltaCount.delete(partition);
    }
    for (const entry of assign) {
      // Nothing of an earlier owner may be taken for consumption of this one.
      this.#file.prepare('DELETE FROM consumption WHERE partition = ?').run(entry.partition);
      this.#indexes.assign(entry);
      this.#setOwner(entry);
    }
    return unusable;
  }

  #setOwner(row: PoolRow): void {
    this.#file
      .prepare(
        'INSERT OR REPLACE INTO partition (partition, queue_id, shard, first_seq, crc) VALUES (?, ?, ?, ?, ?)',
      )
      .run(row.partition, row.queueId, row.shard, row.firstSeq, poolChecksum(row));
  }

  #writeDelta(
    { partition, subscriber }: Pick<DeltaEntry, 'partition' | 'subscriber'>,
    groupNo: number,
    ranges: Buffer,
  ): void {
    const crc = deltaChecksum({ partition, subscriber, groupNo }, ranges);
    this.#insertDelta.run(partition, subscriber, groupNo, ranges, crc);
  }

  #deltasOf(partition: number): Map<number, number> {
    let counts = this.#deltaCount.get(partition);
    if (counts === undefined) {
      counts = new Map();
      this.#deltaCount.set(partition, counts);
    }
    return counts;
  }

  #countDelta(
    { partition, subscriber }: Pick<DeltaEntry, 'partition' | 'subscriber'>,
    groupNo: number,
  ): void {
    const counts = this.#deltasOf(partition);
    const count = (counts.get(subscriber) ?? 0) + 1;
    const most = Math.max(deltasMin, Math.min(deltasMax, deltasOfAllMax / counts.size));
    if (count >= most) this.#foldDeltas(partition, subscriber, groupNo);
    counts.set(subscriber, count >= most ? 1 : count);
  }

  /** Joins the deltas of a partition and subscriber. Bases cancel out: all count from the partition's first number. */
  #foldDeltas(partition: number, subscriber: number, groupNo: number): void {
    const deltas = this.#file
      .prepare('SELECT ranges FROM consumption WHERE partition = ? AND subscriber = ?')
      .pluck()
      .all(partition, subscriber) as Uint8Array[];
    this.#file
      .prepare('DELETE FROM consumption WHERE partition = ? AND subscriber = ?')
      .run(partition, subscriber);
    const ranges = mergeRanges(deltas.flatMap((delta) => decodeRanges(delta, 0)));
    this.#writeDelta({ partition, subscriber }, groupNo, Buffer.from(encodeRanges(ranges, 0)));
  }

  close(): void {
    this.#file.close();
    this.#acknowledged.close();
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Whether no row may be left that has this group's number, or that of the one before: see `last-group.ts`. */
function leavesNoTrace({ blocks, deltas, side }: GroupContent, pool: Group['pool']): boolean {
  return poolSize(pool) + side.length > 0 || blocks.length + deltas.length === 0;
}

function poolSize({ create, assign, truncate }: Group['pool']): number {
  return create.length + assign.length + truncate.length;
}
