/**
 * The local indexes of partitions on correlation ids. The table `partition_<n>_index` exists while partition n belongs to
 * a queue with `correlationIndex`. It has a row for each block with correlation ids, of four bytes for each id
 * (`model/correlation-key.ts`). A search scans these rows and reads only the blocks that may hold the id. An index is
 * appended to and truncated with its partition; `docs/decisions/local-indexes.md` says why it is no tree.
 */

import { QueueError } from '../../../api/errors.ts';
import { type CorrelationSearch, hashBytes, hashesOf } from '../../../model/correlation-key.ts';
import type { BlockEntry, PartitionAssignment } from '../../../model/group-message.ts';
import type { Epoch, PartitionId } from '../../../model/ids.ts';
import type { ReadBlock } from '../../../model/read-request.ts';
import type { SqliteFile, SqliteStatement } from '../../sqlite/open-sqlite.ts';
import { partitionTableName } from './partition-table.ts';
import { assertBlockUndamaged, blockColumns, type StoredBlock } from './read-partition.ts';

const indexTableName = (partition: PartitionId) => `${partitionTableName(partition)}_index`;

/** The indexes as the writer maintains them, inside the transaction of the group. */
export class CorrelationIndexes {
  readonly #file: SqliteFile;
  readonly #insertStatements = new Map<PartitionId, SqliteStatement>();
  readonly #partitions: Set<PartitionId>;
  /** Partitions with an index. */
  readonly partitions: ReadonlySet<PartitionId>;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#partitions = new Set(this.#readIndexedPartitions());
    this.partitions = this.#partitions;
  }

  #readIndexedPartitions(): PartitionId[] {
    const names = this.#file
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'partition_[0-9]*_index'`)
      .pluck()
      .all() as string[];
    return names.map((name) => Number(name.split('_')[1]));
  }

  /**
   * When the file is opened, damaged indexes get another name, which contains the epoch: SQLite does not commit a
   * transaction in which it met damage, so nothing may touch them again. Searches then read the blocks instead.
   */
  renameDamaged(epoch: Epoch): void {
    for (const partition of this.#partitions) {
      const table = indexTableName(partition);
      if (isTableUndamaged(this.#file, table)) continue;
      this.#file.exec(`ALTER TABLE ${table} RENAME TO ${table}_damaged_${epoch}`);
      this.#partitions.delete(partition);
    }
  }

  /** Creates or drops the index of a partition for its new owner. */
  setIndexed({
    partition,
    hasCorrelationIndex,
  }: Pick<PartitionAssignment, 'partition' | 'hasCorrelationIndex'>): void {
    if (hasCorrelationIndex === this.#partitions.has(partition)) return;
    if (hasCorrelationIndex) {
      this.#file.exec(
        `CREATE TABLE ${indexTableName(partition)} (seq INTEGER PRIMARY KEY, hashes BLOB NOT NULL) STRICT`,
      );
      this.#partitions.add(partition);
    } else {
      this.#file.exec(`DROP TABLE ${indexTableName(partition)}`);
      this.#partitions.delete(partition);
      this.#insertStatements.delete(partition);
    }
  }

  /** A transaction that was rolled back, or another writer, may have created or dropped indexes. */
  reload(): void {
    this.#partitions.clear();
    for (const partition of this.#readIndexedPartitions()) this.#partitions.add(partition);
  }

  /** Adds a block of a partition that has an index. */
  write(
    { partition, firstSeq, count }: Pick<BlockEntry, 'partition' | 'firstSeq' | 'count'>,
    body: Buffer,
  ): void {
    const hashes = hashesOf(body, count);
    if (hashes === undefined) return;
    let insert = this.#insertStatements.get(partition);
    if (insert === undefined) {
      insert = this.#file.prepare(`INSERT INTO ${indexTableName(partition)} (seq, hashes) VALUES (?, ?)`);
      this.#insertStatements.set(partition, insert);
    }
    insert.run(firstSeq, hashes);
  }

  /** SQL that truncates the index of a partition that has one. */
  truncateSql(partition: PartitionId): string {
    return `DELETE FROM ${indexTableName(partition)};`;
  }
}

/** SQLite's own check of all pages. */
function isTableUndamaged(file: SqliteFile, table: string): boolean {
  try {
    return file.pragma(`quick_check(${table})`, { simple: true }) === 'ok';
  } catch {
    return false;
  }
}

/**
 * Blocks of an indexed partition that may hold a message with this hash, in order, starting with the block that holds
 * `fromSeq`, up to about `bytesMax`. Reads the whole index behind it, four bytes a message. Bytes that match across two
 * hashes are a false match. Throws `STORAGE_CORRUPT`, also if the index was damaged and renamed.
 */
export function searchCorrelatedBlocks(
  file: SqliteFile,
  { partition, fromSeq, hash, bytesMax }: CorrelationSearch,
): { blocks: ReadBlock[]; more: boolean } {
  const bytes = Buffer.alloc(hashBytes);
  bytes.writeUInt32LE(hash);
  const rows = prepareSearch(file, partition).iterate(fromSeq, bytes) as IterableIterator<StoredBlock>;
  const blocks: ReadBlock[] = [];
  let read = 0;
  for (const { groupNumber, crc, ...block } of rows) {
    if (block.firstSeq + block.count <= fromSeq) continue;
    assertBlockUndamaged(file, partition, { ...block, groupNumber, crc });
    blocks.push(block);
    read += block.body.byteLength;
    if (read >= bytesMax) return { blocks, more: true };
  }
  return { blocks, more: false };
}

function prepareSearch(file: SqliteFile, partition: PartitionId): SqliteStatement {
  const table = partitionTableName(partition);
  try {
    return file.prepare(
      `SELECT ${blockColumns} FROM ${indexTableName(partition)} CROSS JOIN ${table} USING (seq)
       WHERE seq >= coalesce((SELECT max(seq) FROM ${table} WHERE seq <= ?), 0) AND instr(hashes, ?) > 0 ORDER BY seq`,
    );
  } catch (error) {
    throw new QueueError('STORAGE_CORRUPT', { details: { path: file.name, partition }, cause: error }); // no such table
  }
}
