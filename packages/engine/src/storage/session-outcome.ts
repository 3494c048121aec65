/**
 * How the last transaction of each remote session ended, so that a client whose answer was lost can learn it: one row a
 * session, written in the transaction's own commit. In a group's buffer the rows lie one after the other:
 *
 *     16 bytes session · f64 number of the transaction · u32 length · its ids (`id-runs.ts`)
 *
 * and behind them the sessions whose row is removed, 16 bytes each.
 */
import type { OutcomeEntries } from './group-message.ts';
import { type IdRun, idRunsBytes, readIdRuns, writeIdRuns } from './id-runs.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

export const sessionOutcomeStep = `
  CREATE TABLE session_outcome (
    session BLOB PRIMARY KEY,          -- 16 bytes that the client chose
    transaction_no INTEGER NOT NULL,   -- its last committed transaction
    ids BLOB NOT NULL                  -- of the messages that it enqueued: u32 shard, f64 first sequence, u32 count, …
  ) STRICT, WITHOUT ROWID;
`;

export const sessionBytes = 16;
const headerBytes = sessionBytes + 12;

export interface SessionOutcome {
  session: Uint8Array;
  /** Number of the transaction among those of its session. */
  no: number;
  runs: readonly IdRun[];
}

export function outcomeBytes(runs: readonly IdRun[]): number {
  return headerBytes + idRunsBytes(runs);
}

/** Writes `outcomeBytes` at `start`; returns where they end. */
export function writeOutcome(target: Buffer, start: number, { session, no, runs }: SessionOutcome): number {
  target.set(session, start);
  target.writeDoubleLE(no, start + sessionBytes);
  target.writeUInt32LE(idRunsBytes(runs), start + sessionBytes + 8);
  return writeIdRuns(target, start + headerBytes, runs);
}

/** The table in an instance's file. */
export class SessionOutcomes {
  readonly #all: SqliteStatement;
  readonly #store: SqliteStatement;
  readonly #forget: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#all = file.prepare('SELECT session, transaction_no AS no, ids FROM session_outcome');
    this.#store = file.prepare('INSERT OR REPLACE INTO session_outcome VALUES (?, ?, ?)');
    this.#forget = file.prepare('DELETE FROM session_outcome WHERE session = ?');
  }

  read(): SessionOutcome[] {
    const rows = this.#all.all() as { session: Buffer; no: number; ids: Buffer }[];
    return rows.map(({ session, no, ids }) => ({ session, no, runs: readIdRuns(ids, 0, ids.length) }));
  }

  /** Inside the transaction of the group. */
  apply(buffer: SharedArrayBuffer, { offset, stored, forgotten }: OutcomeEntries): void {
    if (stored + forgotten === 0) return;
    const source = Buffer.from(buffer);
    let at = offset;
    for (let i = 0; i < stored; i += 1) {
      const ids = at + headerBytes;
      const end = ids + source.readUInt32LE(ids - 4);
      const no = source.readDoubleLE(at + sessionBytes);
      this.#store.run(source.subarray(at, at + sessionBytes), no, source.subarray(ids, end));
      at = end;
    }
    for (let i = 0; i < forgotten; i += 1, at += sessionBytes) {
      this.#forget.run(source.subarray(at, at + sessionBytes));
    }
  }
}
