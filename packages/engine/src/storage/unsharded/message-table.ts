/** Messages of the unsharded queues. Several rows share one INSERT: binding each alone costs as much as its insert. */
import type { QueueId } from '../../model/ids.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';

export interface EnqueuedRow {
  queueId: QueueId;
  record: Buffer;
}

const rowsMax = 32;

/** All methods are called inside a write transaction. */
export class MessageTable {
  readonly #file: SqliteFile;
  readonly #reserveIds: SqliteStatement;
  /** Indexed by number of rows. */
  readonly #insertStatements: SqliteStatement[] = [];
  readonly #deleteRange: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#reserveIds = file
      .prepare('UPDATE queue_total SET enqueued = enqueued + ? WHERE queue_id = 0 RETURNING enqueued')
      .pluck();
    this.#deleteRange = file.prepare('DELETE FROM message WHERE id >= ? AND id < ?');
  }

  /** Inserts messages under consecutive ids; returns the first. */
  insert(messages: readonly EnqueuedRow[]): number {
    const firstId = (this.#reserveIds.get(messages.length) as number) - messages.length + 1;
    for (let from = 0; from < messages.length; from += rowsMax) {
      const rows = messages.slice(from, from + rowsMax);
      const values = rows.flatMap(({ queueId, record }, index) => [firstId + from + index, queueId, record]);
      this.#insertStatementOf(rows.length).run(values);
    }
    return firstId;
  }

  #insertStatementOf(rows: number): SqliteStatement {
    this.#insertStatements[rows] ??= this.#file.prepare(
      `INSERT INTO message (id, queue_id, record) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`,
    );
    return this.#insertStatements[rows];
  }

  /** Deletes a run of ids; returns how many messages that were. */
  removeRange(firstId: number, endId: number): number {
    return this.#deleteRange.run(firstId, endId).changes;
  }
}
