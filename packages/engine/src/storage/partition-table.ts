/** The table of one partition: a row is a block of consecutive messages that committed in one group. */
import type { SeqRange } from '../core/consumption.ts';
import { QueueError } from '../core/errors.ts';
import { blockChecksum } from './checksum.ts';
import type { BlockEntry, ReadBlock } from './group-message.ts';
import { type SqliteFile, type SqliteStatement, toQueueError } from './sqlite.ts';

export function partitionTable(partition: number): string {
  return `partition_${partition}`;
}

/** `group_no` and `crc` are NULL in blocks that the first version of the format wrote. */
export function createPartition(file: SqliteFile, partition: number): void {
  file.exec(
    `CREATE TABLE IF NOT EXISTS ${partitionTable(partition)}
       (seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, body BLOB NOT NULL, group_no INTEGER, crc INTEGER) STRICT`,
  );
}

/** Step of the format: blocks learn which group wrote them, and get a checksum. */
export function addBlockChecksums(file: SqliteFile): void {
  const partitions = file.prepare('SELECT partition FROM partition').pluck().all() as number[];
  for (const partition of partitions) {
    const table = partitionTable(partition);
    file.exec(
      `ALTER TABLE ${table} ADD COLUMN group_no INTEGER; ALTER TABLE ${table} ADD COLUMN crc INTEGER`,
    );
  }
}

export class BlockWriter {
  readonly #file: SqliteFile;
  readonly #insert = new Map<number, SqliteStatement>();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  write({ partition, firstSeq, count }: BlockEntry, groupNo: number, body: Buffer): void {
    let insert = this.#insert.get(partition);
    if (insert === undefined) {
      insert = this.#file.prepare(
        `INSERT INTO ${partitionTable(partition)} (seq, count, body, group_no, crc) VALUES (?, ?, ?, ?, ?)`,
      );
      this.#insert.set(partition, insert);
    }
    const crc = blockChecksum({ partition, firstSeq, count, groupNo }, body);
    insert.run(firstSeq, count, body, groupNo, crc);
  }
}

/**
 * Empties the partition, and with `also` what lies beside it; without WHERE, so SQLite drops the pages whole. Returns false,
 * with nothing changed, if a table is too damaged for that: then the partition is never used again.
 */
export function truncatePartition(file: SqliteFile, partition: number, also: string): boolean {
  file.exec('SAVEPOINT truncation');
  try {
    file.exec(`DELETE FROM ${partitionTable(partition)}; ${also} RELEASE truncation`);
    return true;
  } catch (error) {
    if (toQueueError(error, file.name).code !== 'STORAGE_CORRUPT') throw error;
    file.exec('ROLLBACK TO truncation; RELEASE truncation');
    return false;
  }
}

/** The last group that wrote to the partition; 0 if none did. */
export function lastGroupOf(file: SqliteFile, partition: number): number {
  const group = file
    .prepare(`SELECT group_no FROM ${partitionTable(partition)} ORDER BY seq DESC LIMIT 1`)
    .pluck()
    .get();
  return (group as number | null | undefined) ?? 0;
}

export interface PartitionSize {
  /** End of the last message, exclusive; absent if there is none. */
  endSeq?: number;
  messages: number;
  bytes: number;
}

/** Reads every row, but no bodies. */
export function sizeOf(file: SqliteFile, partition: number): PartitionSize {
  const { endSeq, ...size } = file
    .prepare(
      `SELECT max(seq + count) AS endSeq, coalesce(sum(count), 0) AS messages,
         coalesce(sum(length(body)), 0) AS bytes FROM ${partitionTable(partition)}`,
    )
    .get() as PartitionSize & { endSeq: number | null };
  return endSeq === null ? size : { ...size, endSeq };
}

export interface StoredBlock extends ReadBlock {
  groupNo: number | null;
  crc: number | null;
}

export const blockColumns = 'seq AS firstSeq, count, body, group_no AS groupNo, crc';

/** The numbers of each block, in order. */
export function blockRanges(file: SqliteFile, partition: number): IterableIterator<SeqRange> {
  return file
    .prepare(`SELECT seq, seq + count FROM ${partitionTable(partition)} ORDER BY seq`)
    .raw()
    .iterate() as IterableIterator<SeqRange>;
}

/**
 * Throws `STORAGE_CORRUPT` if the table may have lost its end: by SQLite's own look at all of its pages (8 ms for a full
 * one), and by the sum of the last block.
 */
export function assertEnd(file: SqliteFile, partition: number): void {
  const table = partitionTable(partition);
  const verdict = file.pragma(`quick_check(${table})`, { simple: true });
  if (verdict !== 'ok') {
    throw new QueueError('STORAGE_CORRUPT', { details: { path: file.name, partition, sqlite: verdict } });
  }
  const last = file.prepare(`SELECT ${blockColumns} FROM ${table} ORDER BY seq DESC LIMIT 1`).get();
  if (last !== undefined) assertWhole(file, partition, last as StoredBlock);
}

/**
 * Blocks in order, from the one that `fromSeq` lies in, up to about `bytesMax`. Relies on the table's key; a block's end
 * is not indexed, so the first is found as the last one that starts at or before `fromSeq`. Stops in front of a block
 * that cannot be read or is not what was written, and throws `STORAGE_CORRUPT` if that is the first one.
 */
export function readBlocks(
  file: SqliteFile,
  { partition, fromSeq, bytesMax }: { partition: number; fromSeq: number; bytesMax: number },
): { blocks: ReadBlock[]; more: boolean } {
  const table = partitionTable(partition);
  const rows = file
    .prepare(
      `SELECT ${blockColumns} FROM ${table}
       WHERE seq >= coalesce((SELECT max(seq) FROM ${table} WHERE seq <= ?), 0) ORDER BY seq`,
    )
    .iterate(fromSeq) as IterableIterator<StoredBlock>;
  const blocks: ReadBlock[] = [];
  let bytes = 0;
  try {
    for (const { groupNo, crc, ...block } of rows) {
      if (block.firstSeq + block.count <= fromSeq) continue;
      assertWhole(file, partition, { ...block, groupNo, crc });
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

/** All blocks with what they are to be checked by. */
export function selectBlocks(
  file: SqliteFile,
  partition: number,
  order: 'ASC' | 'DESC',
): IterableIterator<StoredBlock> {
  return file
    .prepare(`SELECT ${blockColumns} FROM ${partitionTable(partition)} ORDER BY seq ${order}`)
    .iterate() as IterableIterator<StoredBlock>;
}

export function isWholeBlock(
  partition: number,
  { firstSeq, count, body, groupNo, crc }: StoredBlock,
): boolean {
  return groupNo === null || crc === blockChecksum({ partition, firstSeq, count, groupNo }, body);
}

/** Throws `STORAGE_CORRUPT` if the block is not what was written. */
export function assertWhole(file: SqliteFile, partition: number, block: StoredBlock): void {
  if (isWholeBlock(partition, block)) return;
  const { firstSeq, count } = block;
  throw new QueueError('STORAGE_CORRUPT', {
    sentence: `The messages from number ${firstSeq} on in ${partitionTable(partition)} are not what was written`,
    details: { path: file.name, partition, firstSeq, count },
  });
}
