/**
 * Outcomes of remote sessions' transactions on unsharded queues, one row for each session. They are written in the commit
 * of the transaction, as `session-outcome-table.ts` does it in an instance's file.
 */
import { idRunsBytes, readIdRuns, writeIdRuns } from '../../model/id-runs.ts';
import type { SessionOutcome } from '../../model/session-outcome.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';

export const unshardedOutcomeTableSql = `
  CREATE TABLE session_outcome (
    session_id BLOB PRIMARY KEY,       -- 16 bytes that the client chose
    instance INTEGER NOT NULL,         -- the instance that serves the session
    transaction_number INTEGER NOT NULL, -- its last committed transaction
    enqueued_id_runs BLOB NOT NULL     -- ids that it enqueued: u32 0, f64 first id, u32 count, …
  ) STRICT, WITHOUT ROWID;
`;

export class UnshardedOutcomeTable {
  readonly #selectOfInstance: SqliteStatement;
  readonly #upsert: SqliteStatement;
  readonly #delete: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#selectOfInstance = file.prepare(
      'SELECT session_id AS sessionId, transaction_number AS transactionNumber, enqueued_id_runs AS ids FROM session_outcome WHERE instance = ?',
    );
    this.#upsert = file.prepare('INSERT OR REPLACE INTO session_outcome VALUES (?, ?, ?, ?)');
    this.#delete = file.prepare('DELETE FROM session_outcome WHERE session_id = ?');
  }

  read(instance: number): SessionOutcome[] {
    const rows = this.#selectOfInstance.all(instance) as {
      sessionId: Buffer;
      transactionNumber: number;
      ids: Buffer;
    }[];
    return rows.map(({ ids, ...row }) => ({ ...row, enqueuedIdRuns: readIdRuns(ids, 0, ids.length) }));
  }

  /** Inside the transaction of the commit. */
  store(instance: number, { sessionId, transactionNumber, enqueuedIdRuns }: SessionOutcome): void {
    const ids = Buffer.allocUnsafe(idRunsBytes(enqueuedIdRuns));
    writeIdRuns(ids, 0, enqueuedIdRuns);
    this.#upsert.run(sessionId, instance, transactionNumber, ids);
  }

  remove(session: Buffer): void {
    this.#delete.run(session);
  }
}
