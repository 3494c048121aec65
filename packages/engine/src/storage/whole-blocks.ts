/** All blocks of a partition that can still be read and are what was written, whatever is damaged between them. */

import { isWholeBlock, type StoredBlock, selectBlocks } from './partition-table.ts';
import type { SqliteFile } from './sqlite.ts';

export interface WholeBlocks {
  /** In order. */
  blocks: StoredBlock[];
  /** Blocks that are there and are not what was written. */
  changed: number;
  /** Whether all pages could be read. */
  readable: boolean;
}

/** From both ends to the first page that cannot be read: what lies between two such pages is not found. */
export function readWholeBlocks(file: SqliteFile, partition: number): WholeBlocks {
  const found = new Map<number, StoredBlock>();
  const changed = new Set<number>();
  const from = (order: 'ASC' | 'DESC'): boolean => {
    try {
      for (const block of selectBlocks(file, partition, order)) {
        if (found.has(block.firstSeq) || changed.has(block.firstSeq)) return false; // the other end came as far as this
        if (isWholeBlock(partition, block)) found.set(block.firstSeq, block);
        else changed.add(block.firstSeq);
      }
      return true;
    } catch {
      return false; // whatever SQLite makes of damage
    }
  };
  const readable = from('ASC');
  if (!readable) from('DESC');
  const blocks = [...found.values()].sort((a, b) => a.firstSeq - b.firstSeq);
  return { blocks, changed: changed.size, readable };
}
