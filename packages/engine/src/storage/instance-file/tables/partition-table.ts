/**
 * What a group writes to partitions. The table `partition` is their pool: which log each one belongs to. Each has a table
 * `partition_<n>`, in which a row is a block of consecutive messages that committed in one group, or stands for messages that were
 * consumed before they were applied, without them (`net-effect.ts`). `consumption` has the terminal
 * ranges of each, as deltas: a group adds one row for each partition and subscriber in which it consumed. Deltas are merged into
 * one past a bound, so that truncating and recovery stay short. `read-partition.ts` reads all three.
 */
import { decodeRanges, encodeRanges, mergeRanges } from '../../../model/consumption.ts';
import type { BlockEntry, ConsumptionDeltaEntry } from '../../../model/group-message.ts';
import type { GroupNumber, LogId, PartitionId, QueueId, Seq, SubscriberId } from '../../../model/ids.ts';
import { blockChecksum, consumptionDeltaChecksum, rowChecksum } from '../../checksum.ts';
import { columnList } from '../../sqlite/columns.ts';
import { type SqliteFile, type SqliteStatement, toQueueError } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule } from './table-module.ts';

export interface PartitionRow {
  partition: PartitionId;
  /** Null, as the columns after it: the partition is free. */
  queueId: QueueId | null;
  shard: LogId | null;
  firstSeq: Seq | null;
}

export const partitionPool = new CheckedTable<PartitionRow>({
  name: 'partition',
  columns: ['partition', 'queueId', 'shard', 'firstSeq'],
  key: ['partition'],
});

export const partitionPoolTable = {
  schemaSql: `
    CREATE TABLE partition (
      partition INTEGER PRIMARY KEY, -- its messages are in the table partition_<number>
      queue_id INTEGER,              -- NULL: free
      shard INTEGER,
      first_seq INTEGER,             -- lower numbers are terminal or in an earlier partition of the log
      crc INTEGER NOT NULL           -- over the columns before it
    ) STRICT;`,
  checkedTables: [partitionPool],
} satisfies TableModule;

export function writeFreePartition(file: SqliteFile, partition: PartitionId): void {
  writePartitionRow(file, { partition, queueId: null, shard: null, firstSeq: null });
}

export function writePartitionRow(
  file: SqliteFile,
  { partition, queueId, shard, firstSeq }: PartitionRow,
): void {
  const crc = rowChecksum([partition, queueId, shard, firstSeq]);
  file.prepare(partitionPool.insertSql).run({ partition, queueId, shard, firstSeq, crc });
}

export function deletePartitionRow(file: SqliteFile, partition: PartitionId): void {
  file.prepare('DELETE FROM partition WHERE partition = ?').run(partition);
}

export function partitionTableName(partition: PartitionId): string {
  return `partition_${partition}`;
}

export function createPartitionTable(file: SqliteFile, partition: PartitionId): void {
  file.exec(
    `CREATE TABLE IF NOT EXISTS ${partitionTableName(partition)}
       (seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, body BLOB NOT NULL, group_number INTEGER NOT NULL,
        crc INTEGER NOT NULL) STRICT`,
  );
}

export class BlockWriter {
  readonly #file: SqliteFile;
  readonly #insertStatements = new Map<PartitionId, SqliteStatement>();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  write(
    { partition, firstSeq, count }: Pick<BlockEntry, 'partition' | 'firstSeq' | 'count'>,
    groupNumber: GroupNumber,
    body: Buffer,
  ): void {
    let insert = this.#insertStatements.get(partition);
    if (insert === undefined) {
      insert = this.#file.prepare(
        `INSERT INTO ${partitionTableName(partition)} (seq, count, body, group_number, crc) VALUES (?, ?, ?, ?, ?)`,
      );
      this.#insertStatements.set(partition, insert);
    }
    const crc = blockChecksum({ partition, firstSeq, count, groupNumber }, body);
    insert.run(firstSeq, count, body, groupNumber, crc);
  }
}

/**
 * Truncates the partition and, by the statements `alsoSql`, its index. DELETE without WHERE lets SQLite drop whole pages.
 * Returns false, with nothing changed, if a table is too damaged for that: then the partition is never used again.
 */
export function truncatePartition(file: SqliteFile, partition: PartitionId, alsoSql: string): boolean {
  file.exec('SAVEPOINT truncation');
  try {
    file.exec(`DELETE FROM ${partitionTableName(partition)}; ${alsoSql} RELEASE truncation`);
    return true;
  } catch (error) {
    if (toQueueError(error, file.name).code !== 'STORAGE_CORRUPT') throw error;
    file.exec('ROLLBACK TO truncation; RELEASE truncation');
    return false;
  }
}

/** 256 rows for the one consumer of a queue, fewer where many subscribers share a partition. */
const rowsPerSubscriberMax = 256;
const rowsPerPartitionMax = 4_096;
const rowsPerSubscriberMin = 16;

export const consumptionColumns = ['partition', 'subscriber', 'groupNumber', 'ranges', 'crc'] as const;
const insertDeltaSql = (insert: 'INSERT' | 'INSERT OR REPLACE') =>
  `${insert} INTO consumption (${columnList(consumptionColumns)}) VALUES (?, ?, ?, ?, ?)`;

export const consumptionTable = {
  schemaSql: `
    CREATE TABLE consumption (
      partition INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,   -- 0: the one consumer of a queue
      group_number INTEGER NOT NULL, -- the group commit that wrote the row
      ranges BLOB NOT NULL,
      crc INTEGER NOT NULL,          -- over the columns before it
      PRIMARY KEY (partition, subscriber, group_number)
    ) STRICT, WITHOUT ROWID;`,
  uncountedTables: ['consumption'],
  tablesByPartition: ['consumption'],
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM consumption WHERE subscriber = ?').run(subscriber);
  },
} satisfies TableModule;

export interface ConsumptionRow {
  partition: PartitionId;
  subscriber: SubscriberId;
  groupNumber: GroupNumber;
  ranges: Uint8Array;
  crc: number;
}

export function isDeltaUndamaged({ crc, ranges, ...key }: ConsumptionRow): boolean {
  return crc === consumptionDeltaChecksum(key, ranges);
}

type DeltaKey = Pick<ConsumptionDeltaEntry, 'partition' | 'subscriber'>;

export class ConsumptionWriter {
  readonly #file: SqliteFile;
  readonly #insert: SqliteStatement;
  /** Rows by partition and subscriber. */
  readonly #rowCounts = new Map<PartitionId, Map<SubscriberId, number>>();

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#insert = file.prepare(insertDeltaSql('INSERT'));
  }

  /** The number of rows that recovery found. */
  setRowCount({ partition, subscriber }: DeltaKey, rows: number): void {
    this.#rowCountsOf(partition).set(subscriber, rows);
  }

  /** Counts the rows of all partitions, damaged ones included, where no recovery read them or another writer has added some. */
  countRows(): void {
    this.#rowCounts.clear();
    const rows = this.#file
      .prepare(
        'SELECT partition, subscriber, count(*) AS rows FROM consumption GROUP BY partition, subscriber',
      )
      .all() as (DeltaKey & { rows: number })[];
    for (const { rows: count, ...key } of rows) this.setRowCount(key, count);
  }

  forgetPartition(partition: PartitionId): void {
    this.#rowCounts.delete(partition);
  }

  write(key: DeltaKey, groupNumber: GroupNumber, ranges: Buffer): void {
    this.#insertRow(key, groupNumber, ranges);
    const counts = this.#rowCountsOf(key.partition);
    const count = (counts.get(key.subscriber) ?? 0) + 1;
    const rowsMax = Math.max(
      rowsPerSubscriberMin,
      Math.min(rowsPerSubscriberMax, rowsPerPartitionMax / counts.size),
    );
    if (count >= rowsMax) this.#mergeRows(key, groupNumber);
    counts.set(key.subscriber, count >= rowsMax ? 1 : count);
  }

  #insertRow({ partition, subscriber }: DeltaKey, groupNumber: GroupNumber, ranges: Buffer): void {
    const crc = consumptionDeltaChecksum({ partition, subscriber, groupNumber }, ranges);
    this.#insert.run(partition, subscriber, groupNumber, ranges, crc);
  }

  #rowCountsOf(partition: PartitionId): Map<SubscriberId, number> {
    let counts = this.#rowCounts.get(partition);
    if (counts === undefined) {
      counts = new Map();
      this.#rowCounts.set(partition, counts);
    }
    return counts;
  }

  /**
   * All ranges count from the partition's first sequence number, so they merge as they are. Damaged rows stay, where recovery and
   * the check find them: in a merged row with a checksum of its own, wrong ranges would look right.
   */
  #mergeRows({ partition, subscriber }: DeltaKey, groupNumber: GroupNumber): void {
    const rows = this.#file
      .prepare(
        'SELECT group_number AS groupNumber, ranges, crc FROM consumption WHERE partition = ? AND subscriber = ?',
      )
      .all(partition, subscriber) as Pick<ConsumptionRow, 'groupNumber' | 'ranges' | 'crc'>[];
    const undamaged = rows.filter((row) => isDeltaUndamaged({ partition, subscriber, ...row }));
    const damaged = rows.filter((row) => !undamaged.includes(row)).map((row) => row.groupNumber);
    this.#file
      .prepare(
        `DELETE FROM consumption WHERE partition = ? AND subscriber = ?
         AND group_number NOT IN (SELECT value FROM json_each(?))`,
      )
      .run(partition, subscriber, JSON.stringify(damaged));
    const ranges = mergeRanges(undamaged.flatMap((row) => decodeRanges(row.ranges, 0)));
    this.#insertRow({ partition, subscriber }, groupNumber, Buffer.from(encodeRanges(ranges, 0)));
  }
}

/** Also before a partition is assigned: nothing of an earlier owner may count for the new one. */
export function deleteConsumption(file: SqliteFile, partition: PartitionId): void {
  file.prepare('DELETE FROM consumption WHERE partition = ?').run(partition);
}

/** Inserts merged consumption, or replaces that of the same key; used by a repair. */
export function insertConsumption(
  file: SqliteFile,
  key: DeltaKey & { groupNumber: GroupNumber },
  ranges: Uint8Array,
): void {
  const crc = consumptionDeltaChecksum(key, ranges);
  file
    .prepare(insertDeltaSql('INSERT OR REPLACE'))
    .run(key.partition, key.subscriber, key.groupNumber, Buffer.from(ranges), crc);
}
