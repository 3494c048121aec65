/** Messages of the unsharded queues. Several rows share one INSERT: binding each alone costs as much as its insert. */
import type { QueueId, Seq } from '../../model/ids.ts';
import { messageRowChecksum } from '../checksum.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import type { MessageKey } from './message-consumer.ts';

export interface EnqueuedRow {
  queueId: QueueId;
  record: Buffer;
  /** Set for a topic's message. */
  routing?: MessageRouting | undefined;
}

export interface MessageRouting {
  /** 0 is the most urgent. */
  rank: number;
  /** Names of the recipients, as a JSON array; undefined: all subscribers that the topic has at the commit. */
  recipients: string | undefined;
  /** Recipients that do not subscribe when it is committed become temporary subscribers. Otherwise they are passed over. */
  createsTemporary: boolean;
}

export const messageTableSql = `
  CREATE TABLE message (
    id INTEGER PRIMARY KEY,          -- never reused, in commit order
    queue_id INTEGER NOT NULL,
    crc INTEGER NOT NULL,            -- over the other columns; before the record, so that a sum need not read records
    record BLOB NOT NULL
  ) STRICT;
  CREATE INDEX message_by_order ON message (queue_id, id);
`;

export function isMessageUndamaged({ crc, record, ...at }: MessageKey & { record: Uint8Array }): boolean {
  return crc === messageRowChecksum(at, record);
}

const rowsMax = 32;

/** All methods are called inside a write transaction. */
export class MessageTable {
  readonly #file: SqliteFile;
  /** Indexed by number of rows. */
  readonly #insertStatements: SqliteStatement[] = [];
  readonly #deleteRange: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#deleteRange = file.prepare('DELETE FROM message WHERE id >= ? AND id < ?');
  }

  /** Inserts messages under consecutive ids from `firstId`; returns their checksums. */
  insert(messages: readonly EnqueuedRow[], firstId: Seq): number[] {
    const checksums: number[] = [];
    for (let from = 0; from < messages.length; from += rowsMax) {
      const end = Math.min(from + rowsMax, messages.length);
      const values: (number | Buffer)[] = [];
      for (let index = from; index < end; index += 1) {
        const { queueId, record } = messages[index]!;
        const crc = messageRowChecksum({ id: firstId + index, queueId }, record);
        checksums.push(crc);
        values.push(firstId + index, queueId, crc, record);
      }
      this.#insertStatementOf(end - from).run(values);
    }
    return checksums;
  }

  #insertStatementOf(rows: number): SqliteStatement {
    this.#insertStatements[rows] ??= this.#file.prepare(
      `INSERT INTO message (id, queue_id, crc, record) VALUES ${Array(rows).fill('(?, ?, ?, ?)').join(', ')}`,
    );
    return this.#insertStatements[rows];
  }

  /** Deletes a run of ids; returns how many messages that were. */
  removeRange(firstId: Seq, endId: Seq): number {
    return this.#deleteRange.run(firstId, endId).changes;
  }
}
