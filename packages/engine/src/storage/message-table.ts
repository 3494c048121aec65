/** The rows of the unsharded queues' messages, several to a statement: binding each alone costs as much as its insert. */
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

export interface EnqueuedRow {
  queueId: number;
  record: Buffer;
}

const rowsMax = 32;

/** Each method is called inside a write transaction. */
export class MessageTable {
  readonly #file: SqliteFile;
  readonly #takeIds: SqliteStatement;
  /** By number of rows. */
  readonly #insert: SqliteStatement[] = [];
  readonly #remove: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#takeIds = file
      .prepare('UPDATE queue_total SET enqueued = enqueued + ? WHERE queue_id = 0 RETURNING enqueued')
      .pluck();
    this.#remove = file.prepare('DELETE FROM message WHERE id >= ? AND id < ?');
  }

  /** Inserts messages under consecutive ids; returns the first. */
  insert(messages: readonly EnqueuedRow[]): number {
    const firstId = (this.#takeIds.get(messages.length) as number) - messages.length + 1;
    for (let from = 0; from < messages.length; from += rowsMax) {
      const rows = messages.slice(from, from + rowsMax);
      const values = rows.flatMap(({ queueId, record }, index) => [firstId + from + index, queueId, record]);
      this.#insertOf(rows.length).run(values);
    }
    return firstId;
  }

  #insertOf(rows: number): SqliteStatement {
    this.#insert[rows] ??= this.#file.prepare(
      `INSERT INTO message (id, queue_id, record) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`,
    );
    return this.#insert[rows];
  }

  /** Removes all in a run of ids; returns how many there were. */
  remove(firstId: number, endId: number): number {
    return this.#remove.run(firstId, endId).changes;
  }
}
