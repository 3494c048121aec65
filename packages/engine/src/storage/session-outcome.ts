/**
 * How the last transaction of each remote session ended, so that a client whose answer was lost can learn it. It is a log:
 * a group commit adds one row with the outcomes of all its transactions, laid out in the group's buffer one after the
 * other. Every so often it also removes old rows, once it carries on what still counts of them
 * (`instance/outcome-book.ts`). Of a session the highest transaction counts.
 *
 *     16 bytes session · f64 number of the transaction · u32 length · its ids (`id-runs.ts`)
 *
 * A row for each session, changed in place, cost more: a SQLite transaction of 32 of them took 39 µs of CPU, as a log it
 * takes 13, and 10 with nothing to tell.
 */
import type { OutcomeEntries } from './group-message.ts';
import { type IdRun, idRunsBytes, readIdRuns, writeIdRuns } from './id-runs.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

export const sessionOutcomeStep = `
  CREATE TABLE session_outcome (
    group_no INTEGER PRIMARY KEY,
    outcomes BLOB NOT NULL
  ) STRICT;
`;

export const sessionBytes = 16;
const headerBytes = sessionBytes + 12;

export interface SessionOutcome {
  /** Bytes that the client chose. */
  session: Uint8Array;
  /** Number of the transaction among those of its session. */
  no: number;
  runs: readonly IdRun[];
}

/** The outcomes that one group stored. */
export interface OutcomeRow {
  groupNo: number;
  outcomes: SessionOutcome[];
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

/** All outcomes of a row. */
export function readOutcomes(source: Buffer): SessionOutcome[] {
  const outcomes: SessionOutcome[] = [];
  for (let at = 0; at < source.length; ) {
    const ids = at + headerBytes;
    const end = ids + source.readUInt32LE(ids - 4);
    outcomes.push({
      session: source.subarray(at, at + sessionBytes),
      no: source.readDoubleLE(at + sessionBytes),
      runs: readIdRuns(source, ids, end),
    });
    at = end;
  }
  return outcomes;
}

/** The table in an instance's file. */
export class SessionOutcomes {
  readonly #all: SqliteStatement;
  readonly #add: SqliteStatement;
  readonly #retire: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#all = file.prepare('SELECT group_no AS groupNo, outcomes FROM session_outcome ORDER BY group_no');
    this.#add = file.prepare('INSERT INTO session_outcome VALUES (?, ?)');
    this.#retire = file.prepare('DELETE FROM session_outcome WHERE group_no <= ?');
  }

  read(): OutcomeRow[] {
    const rows = this.#all.all() as { groupNo: number; outcomes: Buffer }[];
    return rows.map(({ groupNo, outcomes }) => ({ groupNo, outcomes: readOutcomes(outcomes) }));
  }

  /** Inside the transaction of the group. */
  apply(groupNo: number, buffer: SharedArrayBuffer, { offset, length, retired }: OutcomeEntries): void {
    if (length > 0) this.#add.run(groupNo, Buffer.from(buffer, offset, length));
    if (retired > 0) this.#retire.run(retired);
  }
}
