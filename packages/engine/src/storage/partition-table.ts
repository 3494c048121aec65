/** The table of one partition: a row is a block of consecutive messages that committed in one group. */
import { QueueError } from '../core/errors.ts';
import { blockChecksum } from './checksum.ts';
import type { BlockEntry, ReadBlock } from './group-message.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

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

/** The last group that wrote to the partition; 0 if none did. */
export function lastGroupOf(file: SqliteFile, partition: number): number {
  const group = file
    .prepare(`SELECT group_no FROM ${partitionTable(partition)} ORDER BY seq DESC LIMIT 1`)
    .pluck()
    .get();
  return (group as number | null | undefined) ?? 0;
}

interface StoredBlock extends ReadBlock {
  groupNo: number | null;
  crc: number | null;
}

/**
 * Blocks in order, from the one that `fromSeq` lies in, up to about `bytesMax`. Relies on the table's key; a block's end
 * is not indexed, so the first is found as the last one that starts at or before `fromSeq`. Throws `STORAGE_CORRUPT` for
 * a block whose bytes are not the ones that were written.
 */
export function readBlocks(
  file: SqliteFile,
  { partition, fromSeq, bytesMax }: { partition: number; fromSeq: number; bytesMax: number },
): ReadBlock[] {
  const table = partitionTable(partition);
  const rows = file
    .prepare(
      `SELECT seq AS firstSeq, count, body, group_no AS groupNo, crc FROM ${table}
       WHERE seq >= coalesce((SELECT max(seq) FROM ${table} WHERE seq <= ?), 0) ORDER BY seq`,
    )
    .iterate(fromSeq) as IterableIterator<StoredBlock>;
  const blocks: ReadBlock[] = [];
  let bytes = 0;
  for (const { groupNo, crc, ...block } of rows) {
    if (block.firstSeq + block.count <= fromSeq) continue;
    assertWhole(file, partition, { ...block, groupNo, crc });
    blocks.push(block);
    bytes += block.body.byteLength;
    if (bytes >= bytesMax) break;
  }
  return blocks;
}

function assertWhole(
  file: SqliteFile,
  partition: number,
  { firstSeq, count, body, groupNo, crc }: StoredBlock,
): void {
  if (groupNo === null || crc === blockChecksum({ partition, firstSeq, count, groupNo }, body)) return;
  throw new QueueError('STORAGE_CORRUPT', {
    sentence: `The messages from number ${firstSeq} on in ${partitionTable(partition)} are not what was written`,
    details: { path: file.name, partition, firstSeq, count },
  });
}
