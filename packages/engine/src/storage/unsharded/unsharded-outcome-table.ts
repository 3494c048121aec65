/**
 * Outcomes of remote sessions' transactions on unsharded queues, one row for each session. They are written in the commit
 * of the transaction, as `session-outcome-table.ts` does it in an instance's file.
 */

import { QueueError } from '../../api/errors.ts';
import { idRunsBytes, readIdRuns, writeIdRuns } from '../../model/id-runs.ts';
import type { HolderId, InstanceId, TransactionNumber } from '../../model/ids.ts';
import { type SessionOutcome, sessionIdBytes } from '../../model/session-outcome.ts';
import { rowChecksum } from '../checksum.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import { undamagedTotalSql, wrapSql } from './queue-total-table.ts';

export const unshardedOutcomeTableSql = `
  CREATE TABLE session_outcome (
    session_id BLOB PRIMARY KEY,       -- 16 bytes that the client chose
    instance INTEGER NOT NULL,         -- the instance that serves the session
    transaction_number INTEGER NOT NULL, -- its last committed transaction
    enqueued_id_runs BLOB NOT NULL,    -- ids that it enqueued: u32 0, f64 first id, u32 count, …
    crc INTEGER NOT NULL               -- over the columns before it
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER session_outcome_inserted AFTER INSERT ON session_outcome BEGIN
    UPDATE queue_total SET enqueued = enqueued + 1, checksum_sum = (checksum_sum + new.crc) ${wrapSql}
    WHERE queue_id = -1 AND ${undamagedTotalSql};
  END;
  CREATE TRIGGER session_outcome_updated AFTER UPDATE ON session_outcome BEGIN
    UPDATE queue_total SET checksum_sum = (checksum_sum + new.crc - old.crc) ${wrapSql}
    WHERE queue_id = -1 AND ${undamagedTotalSql};
  END;
  CREATE TRIGGER session_outcome_deleted AFTER DELETE ON session_outcome BEGIN
    UPDATE queue_total SET consumed = consumed + 1, checksum_sum = (checksum_sum - old.crc) ${wrapSql}
    WHERE queue_id = -1 AND ${undamagedTotalSql};
  END;
`;

export class UnshardedOutcomeTable {
  readonly #file: SqliteFile;
  readonly #selectAll: SqliteStatement;
  readonly #upsert: SqliteStatement;
  readonly #delete: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#selectAll = file.prepare(
      `SELECT session_id AS sessionId, instance, transaction_number AS transactionNumber, enqueued_id_runs AS ids, crc
       FROM session_outcome`,
    );
    this.#upsert = file.prepare(
      `INSERT INTO session_outcome VALUES (?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET
         instance = excluded.instance, transaction_number = excluded.transaction_number,
         enqueued_id_runs = excluded.enqueued_id_runs, crc = excluded.crc`,
    );
    this.#delete = file.prepare('DELETE FROM session_outcome WHERE session_id = ?');
  }

  /**
   * Reads the outcomes of the sessions that `instance` serves. Throws `STORAGE_CORRUPT` for any damaged row, which may be one of
   * them.
   */
  read(instance: InstanceId): SessionOutcome[] {
    const rows = this.#selectAll.all() as {
      sessionId: Buffer;
      instance: InstanceId;
      transactionNumber: TransactionNumber;
      ids: Buffer;
      crc: number;
    }[];
    for (const { sessionId, instance: servedBy, transactionNumber, ids, crc } of rows) {
      if (crc === rowChecksum([sessionId, servedBy, transactionNumber, ids])) continue;
      throw new QueueError('STORAGE_CORRUPT', {
        message: `The outcome of a session in ${this.#file.name} is damaged (checksum mismatch)`,
        details: { path: this.#file.name, table: 'session_outcome' },
      });
    }
    return rows
      .filter((row) => row.instance === instance)
      .map(({ sessionId, transactionNumber, ids }) => ({
        sessionId,
        transactionNumber,
        enqueuedIdRuns: readIdRuns(ids, 0, ids.length),
      }));
  }

  /** Inside the transaction of the commit. */
  store(instance: InstanceId, { sessionId, transactionNumber, enqueuedIdRuns }: SessionOutcome): void {
    const ids = Buffer.allocUnsafe(idRunsBytes(enqueuedIdRuns));
    writeIdRuns(ids, 0, enqueuedIdRuns);
    const crc = rowChecksum([sessionId, instance, transactionNumber, ids]);
    this.#upsert.run(sessionId, instance, transactionNumber, ids, crc);
  }

  remove(session: Buffer): void {
    this.#delete.run(session);
  }
}

/** Outcomes of the batches of grouped writes (`write-group.ts`) are of no served instance: those are numbered from 1. */
export const batchOutcomeInstance = 0;

/** Remote sessions choose random ids, so none of them has this id. */
export function batchSessionId(holder: HolderId): Buffer {
  const id = Buffer.alloc(sessionIdBytes);
  id.write('holder');
  id.writeDoubleLE(holder, sessionIdBytes - Float64Array.BYTES_PER_ELEMENT);
  return id;
}
