/**
 * Partitions. The table `partition` is their pool: which log each one belongs to. Each has a table `partition_<n>`, in which
 * a row is a block of consecutive messages that committed in one group.
 */
import { QueueError } from '../../../api/errors.ts';
import type { SeqRange } from '../../../model/consumption.ts';
import type { BlockEntry } from '../../../model/group-message.ts';
import type { GroupNumber, PartitionId } from '../../../model/ids.ts';
import type { ReadBlock } from '../../../model/read-request.ts';
import { blockChecksum } from '../../checksum.ts';
import { type SqliteFile, type SqliteStatement, toQueueError } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule } from './table-module.ts';

export interface PartitionRow {
  partition: number;
  /** Null, as the columns after it: the partition is free. */
  queueId: number | null;
  shard: number | null;
  firstSeq: number | null;
}

const pool = new CheckedTable<PartitionRow>({
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
  checkedTables: [pool],
} satisfies TableModule;

/** In order of owner and sequence. Throws `STORAGE_CORRUPT` if a row is not what was written: all else rests on these. */
export function readPartitionRows(file: SqliteFile): PartitionRow[] {
  return pool.read(file, 'ORDER BY queue_id, shard, first_seq');
}

export function writeFreePartition(file: SqliteFile, partition: number): void {
  writePartitionRow(file, { partition, queueId: null, shard: null, firstSeq: null });
}

export function writePartitionRow(
  file: SqliteFile,
  { partition, queueId, shard, firstSeq }: PartitionRow,
): void {
  pool.createWriter(file)({ partition, queueId, shard, firstSeq });
}

export function deletePartitionRow(file: SqliteFile, partition: number): void {
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
  readonly #insertStatements = new Map<number, SqliteStatement>();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  write({ partition, firstSeq, count }: BlockEntry, groupNumber: GroupNumber, body: Buffer): void {
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

/** The last group that wrote to the partition; 0 if it is empty. */
export function lastGroupOfPartition(file: SqliteFile, partition: PartitionId): number {
  const groupNumber = file
    .prepare(`SELECT group_number FROM ${partitionTableName(partition)} ORDER BY seq DESC LIMIT 1`)
    .pluck()
    .get();
  return (groupNumber as number | null | undefined) ?? 0;
}

export interface PartitionSize {
  /** End of the last message, exclusive; absent if there is none. */
  endSeq?: number;
  messages: number;
  bytes: number;
}

/** Reads every row, but no bodies. */
export function readPartitionSize(file: SqliteFile, partition: PartitionId): PartitionSize {
  const { endSeq, ...size } = file
    .prepare(
      `SELECT max(seq + count) AS endSeq, coalesce(sum(count), 0) AS messages,
         coalesce(sum(length(body)), 0) AS bytes FROM ${partitionTableName(partition)}`,
    )
    .get() as PartitionSize & { endSeq: number | null };
  return endSeq === null ? size : { ...size, endSeq };
}

export interface StoredBlock extends ReadBlock {
  groupNumber: GroupNumber;
  crc: number;
}

export const blockColumns = 'seq AS firstSeq, count, body, group_number AS groupNumber, crc';

/** The sequence numbers of each block, in order. */
export function iterateBlockRanges(file: SqliteFile, partition: PartitionId): IterableIterator<SeqRange> {
  return file
    .prepare(`SELECT seq, seq + count FROM ${partitionTableName(partition)} ORDER BY seq`)
    .raw()
    .iterate() as IterableIterator<SeqRange>;
}

/**
 * Throws `STORAGE_CORRUPT` if the table may have lost its end. Relies on SQLite's check of all its pages (8 ms for a full
 * partition) and on the checksum of the last block.
 */
export function assertEndUndamaged(file: SqliteFile, partition: PartitionId): void {
  const table = partitionTableName(partition);
  const verdict = file.pragma(`quick_check(${table})`, { simple: true });
  if (verdict !== 'ok') {
    throw new QueueError('STORAGE_CORRUPT', { details: { path: file.name, partition, sqlite: verdict } });
  }
  const last = file.prepare(`SELECT ${blockColumns} FROM ${table} ORDER BY seq DESC LIMIT 1`).get();
  if (last !== undefined) assertBlockUndamaged(file, partition, last as StoredBlock);
}

/**
 * Blocks in order, starting with the one that holds `fromSeq`, up to about `bytesMax`. Relies on the primary key: the end
 * of a block is not indexed, so the first is the last one that starts at or before `fromSeq`. Stops before a block that
 * cannot be read or is not what was written; throws `STORAGE_CORRUPT` if that is the first one.
 */
export function readBlocks(
  file: SqliteFile,
  { partition, fromSeq, bytesMax }: { partition: PartitionId; fromSeq: number; bytesMax: number },
): { blocks: ReadBlock[]; more: boolean } {
  const table = partitionTableName(partition);
  const rows = file
    .prepare(
      `SELECT ${blockColumns} FROM ${table}
       WHERE seq >= coalesce((SELECT max(seq) FROM ${table} WHERE seq <= ?), 0) ORDER BY seq`,
    )
    .iterate(fromSeq) as IterableIterator<StoredBlock>;
  const blocks: ReadBlock[] = [];
  let bytes = 0;
  try {
    for (const { groupNumber, crc, ...block } of rows) {
      if (block.firstSeq + block.count <= fromSeq) continue;
      assertBlockUndamaged(file, partition, { ...block, groupNumber, crc });
      blocks.push(block);
      bytes += block.body.byteLength;
      if (bytes >= bytesMax) return { blocks, more: true };
    }
  } catch (error) {
    if (blocks.length === 0) throw error;
    return { blocks, more: true };
  }
  return { blocks, more: false };
}

/** Damage of a partition, in sentences: SQLite's check of all its pages, and the checksum of every block. */
export function findPartitionFaults(file: SqliteFile, partition: PartitionId): string[] {
  const table = partitionTableName(partition);
  const verdict = file.pragma(`quick_check(${table})`, { simple: true });
  if (verdict !== 'ok') return [`partition ${partition} is damaged: ${verdict}`];
  let damaged = 0;
  for (const block of iterateBlocks(file, partition, 'ASC'))
    if (!isBlockUndamaged(partition, block)) damaged += 1;
  return damaged === 0
    ? []
    : [`partition ${partition} is damaged: ${damaged} blocks of it are not what was written`];
}

/** All blocks with their checksums. */
export function iterateBlocks(
  file: SqliteFile,
  partition: PartitionId,
  order: 'ASC' | 'DESC',
): IterableIterator<StoredBlock> {
  return file
    .prepare(`SELECT ${blockColumns} FROM ${partitionTableName(partition)} ORDER BY seq ${order}`)
    .iterate() as IterableIterator<StoredBlock>;
}

export function isBlockUndamaged(
  partition: PartitionId,
  { firstSeq, count, body, groupNumber, crc }: StoredBlock,
): boolean {
  return crc === blockChecksum({ partition, firstSeq, count, groupNumber }, body);
}

/** Throws `STORAGE_CORRUPT` if the block is not what was written. */
export function assertBlockUndamaged(file: SqliteFile, partition: PartitionId, block: StoredBlock): void {
  if (isBlockUndamaged(partition, block)) return;
  const { firstSeq, count } = block;
  throw new QueueError('STORAGE_CORRUPT', {
    message: `The messages from number ${firstSeq} on in ${partitionTableName(partition)} are not what was written`,
    details: { path: file.name, partition, firstSeq, count },
  });
}
