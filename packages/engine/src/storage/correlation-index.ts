/**
 * The local indexes of partitions on correlation ids. `partition_<n>_index` exists as long as partition n belongs to a queue
 * that chose one. A row stands beside each block that has correlation ids, and holds four bytes for each of them: what a
 * search reads instead of the blocks, and then it reads those that may have the id. It is appended to, and emptied, with
 * its partition (`docs/decisions/local-indexes.md` says why it is no tree).
 */
import { QueueError } from '../core/errors.ts';
import type { AssignEntry, BlockEntry, ReadBlock } from './group-message.ts';
import { correlationIdPlace, recordEnd } from './message-record.ts';
import { assertWhole, blockColumns, partitionTable, type StoredBlock } from './partition-table.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

const indexTable = (partition: number) => `${partitionTable(partition)}_index`;
const markBytes = 4;

/** FNV-1a, 32 bits: a few nanoseconds for an id, and one in four billion is taken for another, which costs a look at a block. */
function markOf(source: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ source[at]!, 0x01000193);
  return hash >>> 0;
}

/** The marks of a block's correlation ids, in the order of its messages; undefined if none has one. */
function marksOf(body: Buffer, count: number): Buffer | undefined {
  const marks = Buffer.allocUnsafe(count * markBytes);
  let length = 0;
  for (let at = 0; at < body.byteLength; at = recordEnd(body, at)) {
    const place = correlationIdPlace(body, at);
    if (place !== undefined) length = marks.writeUInt32LE(markOf(body, ...place), length);
  }
  return length === 0 ? undefined : marks.subarray(0, length);
}

/** A correlation id that messages are looked for by. */
export class CorrelationKey {
  readonly #id: Buffer;
  readonly mark: number;

  constructor(correlationId: string) {
    this.#id = Buffer.from(correlationId);
    this.mark = markOf(this.#id, 0, this.#id.byteLength);
  }

  /** Whether it is that of the record. */
  isOf(source: Buffer, start: number): boolean {
    const place = correlationIdPlace(source, start);
    return place !== undefined && this.#id.compare(source, ...place) === 0;
  }
}

/** The indexes as the writer keeps them, each change in the transaction of whatever else the group does. */
export class CorrelationIndexes {
  readonly #file: SqliteFile;
  readonly #insert = new Map<number, SqliteStatement>();
  /** Partitions that have one. */
  #partitions: Set<number>;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#partitions = this.#read();
  }

  #read(): Set<number> {
    const names = this.#file
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'partition_[0-9]*_index'`)
      .pluck()
      .all() as string[];
    return new Set(names.map((name) => Number(name.split('_')[1])));
  }

  /**
   * At an opening: damaged indexes get another name, so that nothing looks at them again, for a transaction in which SQLite
   * meets damage does not commit. Messages that are looked for there are read instead. `epoch`: part of the name.
   */
  setDamagedAside(epoch: number): void {
    for (const partition of this.#partitions) {
      const table = indexTable(partition);
      if (isWhole(this.#file, table)) continue;
      this.#file.exec(`ALTER TABLE ${table} RENAME TO ${table}_damaged_${epoch}`);
      this.#partitions.delete(partition);
    }
  }

  has(partition: number): boolean {
    return this.#partitions.has(partition);
  }

  /** The partition has a new owner, which wants an index or none. */
  assign({ partition, indexed }: Pick<AssignEntry, 'partition' | 'indexed'>): void {
    if (indexed === this.#partitions.has(partition)) return;
    if (indexed) {
      this.#file.exec(
        `CREATE TABLE ${indexTable(partition)} (seq INTEGER PRIMARY KEY, marks BLOB NOT NULL) STRICT`,
      );
      this.#partitions.add(partition);
    } else {
      this.#file.exec(`DROP TABLE ${indexTable(partition)}`);
      this.#partitions.delete(partition);
      this.#insert.delete(partition);
    }
  }

  /** A transaction was rolled back that may have made or dropped some. */
  rolledBack(): void {
    this.#partitions = this.#read();
  }

  write(
    { partition, firstSeq, count }: Pick<BlockEntry, 'partition' | 'firstSeq' | 'count'>,
    body: Buffer,
  ): void {
    if (!this.#partitions.has(partition)) return;
    const marks = marksOf(body, count);
    if (marks === undefined) return;
    let insert = this.#insert.get(partition);
    if (insert === undefined) {
      insert = this.#file.prepare(`INSERT INTO ${indexTable(partition)} (seq, marks) VALUES (?, ?)`);
      this.#insert.set(partition, insert);
    }
    insert.run(firstSeq, marks);
  }

  /** SQL that empties the index of a partition; of one without, nothing. */
  emptying(partition: number): string {
    return this.#partitions.has(partition) ? `DELETE FROM ${indexTable(partition)};` : '';
  }
}

/** By SQLite's own look at all of its pages. */
function isWhole(file: SqliteFile, table: string): boolean {
  try {
    return file.pragma(`quick_check(${table})`, { simple: true }) === 'ok';
  } catch {
    return false;
  }
}

export interface SearchPlace {
  partition: number;
  fromSeq: number;
  mark: number;
  bytesMax: number;
}

/**
 * Blocks that may have a message of the correlation id with this mark, in order, from the one that `fromSeq` lies in, up to
 * about `bytesMax`; of a partition with an index. Reads all of that, four bytes a message. A mark that stands across two
 * others' bytes is found too. Throws `STORAGE_CORRUPT`, also if the index was damaged and set aside.
 */
export function searchBlocks(
  file: SqliteFile,
  { partition, fromSeq, mark, bytesMax }: SearchPlace,
): { blocks: ReadBlock[]; more: boolean } {
  const bytes = Buffer.alloc(markBytes);
  bytes.writeUInt32LE(mark);
  const rows = searchIn(file, partition).iterate(fromSeq, bytes) as IterableIterator<StoredBlock>;
  const blocks: ReadBlock[] = [];
  let read = 0;
  for (const { groupNo, crc, ...block } of rows) {
    if (block.firstSeq + block.count <= fromSeq) continue;
    assertWhole(file, partition, { ...block, groupNo, crc });
    blocks.push(block);
    read += block.body.byteLength;
    if (read >= bytesMax) return { blocks, more: true };
  }
  return { blocks, more: false };
}

function searchIn(file: SqliteFile, partition: number): SqliteStatement {
  const table = partitionTable(partition);
  try {
    return file.prepare(
      `SELECT ${blockColumns} FROM ${indexTable(partition)} CROSS JOIN ${table} USING (seq)
       WHERE seq >= coalesce((SELECT max(seq) FROM ${table} WHERE seq <= ?), 0) AND instr(marks, ?) > 0 ORDER BY seq`,
    );
  } catch (error) {
    throw new QueueError('STORAGE_CORRUPT', { details: { path: file.name, partition }, cause: error }); // no such table
  }
}
