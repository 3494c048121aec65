/** All blocks of a partition that are readable and undamaged, whatever is damaged between them. */

import type { PartitionId, Seq } from '../../../model/ids.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { isBlockUndamaged, iterateBlocks, type StoredBlock } from '../tables/read-partition.ts';

export interface UndamagedBlocks {
  /** The undamaged blocks, in order. */
  blocks: StoredBlock[];
  /** Number of blocks that are readable but whose checksum does not match. */
  damagedBlocks: number;
  /** Whether SQLite could read all pages. */
  allPagesReadable: boolean;
}

/** Reads from both ends to the first unreadable page: blocks between two such pages are not found. */
export function readUndamagedBlocks(file: SqliteFile, partition: PartitionId): UndamagedBlocks {
  const found = new Map<Seq, StoredBlock>();
  const changed = new Set<Seq>();
  const from = (order: 'ASC' | 'DESC'): boolean => {
    try {
      for (const block of iterateBlocks(file, partition, order)) {
        if (found.has(block.firstSeq) || changed.has(block.firstSeq)) return false; // read from the other end already
        if (isBlockUndamaged(partition, block)) found.set(block.firstSeq, block);
        else changed.add(block.firstSeq);
      }
      return true;
    } catch {
      return false; // any error of SQLite is damage here
    }
  };
  const readable = from('ASC');
  if (!readable) from('DESC');
  const blocks = [...found.values()].sort((a, b) => a.firstSeq - b.firstSeq);
  return { blocks, damagedBlocks: changed.size, allPagesReadable: readable };
}
