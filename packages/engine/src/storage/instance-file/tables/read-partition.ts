/** Reads partitions, their blocks and their consumption, and finds damage by checksums. */
import { QueueError } from '../../../api/errors.ts';
import type { SeqRange } from '../../../model/consumption.ts';
import type { GroupNumber, PartitionId, Seq, SubscriberId } from '../../../model/ids.ts';
import type { ReadBlock } from '../../../model/read-request.ts';
import { blockChecksum } from '../../checksum.ts';
import { selectList } from '../../sqlite/columns.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import {
  type ConsumptionRow,
  consumptionColumns,
  isDeltaUndamaged,
  type PartitionRow,
  partitionPool,
  partitionTableName,
} from './partition-table.ts';

const inOrderOfLogs = 'ORDER BY queue_id, shard, first_seq';

/**
 * Returns the rows by owner and sequence number. Throws `STORAGE_CORRUPT` if one is damaged, because everything else depends on
 * them.
 */
export function readPartitionRows(file: SqliteFile): PartitionRow[] {
  return partitionPool.read(file, inOrderOfLogs);
}

/** The same without the damaged ones; used by a repair. */
export function readUndamagedPartitionRows(file: SqliteFile): PartitionRow[] {
  return partitionPool.readUndamaged(file, inOrderOfLogs);
}

/** The last group that wrote to the partition; 0 if it is empty. */
export function lastGroupOfPartition(file: SqliteFile, partition: PartitionId): GroupNumber {
  const groupNumber = file
    .prepare(`SELECT group_number FROM ${partitionTableName(partition)} ORDER BY seq DESC LIMIT 1`)
    .pluck()
    .get();
  return (groupNumber as GroupNumber | null | undefined) ?? 0;
}

export interface PartitionSize {
  /** End of the last message, exclusive; absent if there is none. */
  endSeq?: Seq;
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
    .get() as PartitionSize & { endSeq: Seq | null };
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
 * Blocks in order, starting with the one that holds `fromSeq`, up to about `bytesMax`. Relies on the primary key: the end of a
 * block is not indexed, so the first is the last one that starts at or before `fromSeq`. Stops before a block that cannot be read
 * or is damaged; throws `STORAGE_CORRUPT` if that is the first one.
 */
export function readBlocks(
  file: SqliteFile,
  { partition, fromSeq, bytesMax }: { partition: PartitionId; fromSeq: Seq; bytesMax: number },
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
      if (block.body.byteLength === 0) continue; // all of it is consumed
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
  const verdict = file.pragma(`quick_check(${partitionTableName(partition)})`, { simple: true });
  if (verdict !== 'ok') return [`partition ${partition} is damaged: ${verdict}`];
  let damaged = 0;
  for (const block of iterateBlocks(file, partition, 'ASC'))
    if (!isBlockUndamaged(partition, block)) damaged += 1;
  return damaged === 0 ? [] : [`partition ${partition} is damaged: ${damaged} blocks have a wrong checksum`];
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

/** Throws `STORAGE_CORRUPT` if the block is damaged. */
export function assertBlockUndamaged(file: SqliteFile, partition: PartitionId, block: StoredBlock): void {
  if (isBlockUndamaged(partition, block)) return;
  const { firstSeq, count } = block;
  throw new QueueError('STORAGE_CORRUPT', {
    message: `The messages from number ${firstSeq} on in ${partitionTableName(partition)} are damaged (checksum mismatch)`,
    details: { path: file.name, partition, firstSeq, count },
  });
}

/** Reads the rows by partition, each with whether it is undamaged. */
export function readConsumption(
  file: SqliteFile,
): Map<PartitionId, { subscriber: SubscriberId; ranges: Uint8Array; undamaged: boolean }[]> {
  const rows = file
    .prepare(`SELECT ${selectList(consumptionColumns)} FROM consumption`)
    .all() as ConsumptionRow[];
  const checked = rows.map((row) => ({ ...row, undamaged: isDeltaUndamaged(row) }));
  return Map.groupBy(checked, ({ partition }) => partition);
}
