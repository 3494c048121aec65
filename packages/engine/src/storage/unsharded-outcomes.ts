/**
 * The outcomes of remote sessions' transactions on unsharded queues, in the file that these share: written in the
 * transaction's own commit, as `session-outcome.ts` does it in an instance's file.
 */
import { idRunsBytes, readIdRuns, writeIdRuns } from './id-runs.ts';
import type { SessionOutcome } from './session-outcome.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

export const unshardedOutcomeStep = `
  CREATE TABLE session_outcome (
    session BLOB PRIMARY KEY,          -- 16 bytes that the client chose
    instance INTEGER NOT NULL,         -- that serves the session
    transaction_no INTEGER NOT NULL,   -- its last committed transaction
    ids BLOB NOT NULL                  -- of the messages that it enqueued: u32 0, f64 first id, u32 count, …
  ) STRICT, WITHOUT ROWID;
`;

export class UnshardedOutcomes {
  readonly #ofInstance: SqliteStatement;
  readonly #store: SqliteStatement;
  readonly #forget: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#ofInstance = file.prepare(
      'SELECT session, transaction_no AS no, ids FROM session_outcome WHERE instance = ?',
    );
    this.#store = file.prepare('INSERT OR REPLACE INTO session_outcome VALUES (?, ?, ?, ?)');
    this.#forget = file.prepare('DELETE FROM session_outcome WHERE session = ?');
  }

  read(instance: number): SessionOutcome[] {
    const rows = this.#ofInstance.all(instance) as { session: Buffer; no: number; ids: Buffer }[];
    return rows.map(({ session, no, ids }) => ({ session, no, runs: readIdRuns(ids, 0, ids.length) }));
  }

  /** Inside the transaction of the commit. */
  store(instance: number, { session, no, runs }: SessionOutcome): void {
    const ids = Buffer.allocUnsafe(idRunsBytes(runs));
    writeIdRuns(ids, 0, runs);
    this.#store.run(session, instance, no, ids);
  }

  forget(session: Buffer): void {
    this.#forget.run(session);
  }
}
