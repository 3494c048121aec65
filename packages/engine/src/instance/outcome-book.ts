/**
 * What an instance remembers of its remote sessions' last transactions, in memory; each entry is durable with the commit
 * that it tells of. A client whose answer was lost comes back and asks here (`cluster/remote/`).
 *
 * An entry stays while its session is served, and for `outcomeKeptMs` after the connection was lost; a session that is
 * closed in order takes its entry with it. At the bound no new session is let in: forgetting an entry early could make a
 * client believe that its transaction was not committed.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { IdRun } from '../storage/id-runs.ts';
import type { OutcomeRow, SessionOutcome } from '../storage/session-outcome.ts';

/** Who serves a session: one connection at a time. */
export interface SessionOwner {
  /** Another connection serves the session now. Resolves when a commit under way has ended. */
  detach(): Promise<void>;
}

export class OutcomeEntry {
  readonly session: Buffer;
  /** The last transaction that committed; 0: none. */
  no = 0;
  runs: readonly IdRun[] = [];
  owner: SessionOwner | undefined;
  /** How often the client has attached its session: the latest connection is the one that counts. */
  attachment = 0;
  /** When its last owner went, on the monotonic clock. */
  detachedAt: number;
  /** The group whose row in the instance's file has `no`; 0: none. */
  row = 0;
  /** Whether the file of the unsharded queues has a row of it. */
  inUnshardedFile = false;
  forgotten = false;

  constructor(session: Buffer, now: number) {
    this.session = session;
    this.detachedAt = now;
  }

  /** A transaction of the session is durable. */
  committed(no: number, runs: readonly IdRun[]): void {
    this.no = no;
    this.runs = runs;
  }
}

/** A row of the instance's file: the outcomes that one group stored. */
export interface StoredRow {
  groupNo: number;
  entries: readonly OutcomeEntry[];
}

/**
 * Rows in the instance's file before the oldest are removed. What still counts of them, that of sessions which have not
 * committed since, is written again: with 10,000 idle sessions 5 KB a group on average.
 */
const rowsMax = 96;
/** Together, since each removal touches a page that the group would otherwise leave alone. */
const rowsRemovedTogether = 32;
const noRows: StoredRow[] = [];

const sweepMs = 10_000;

export class OutcomeBook {
  readonly #now: () => number;
  readonly #bySession = new Map<string, OutcomeEntry>();
  #sweptAt: number;
  /** Rows of the instance's file, oldest first. */
  readonly #rows: StoredRow[] = [];
  /** Sessions whose rows are to go with a next write to the file of the unsharded queues. */
  readonly forgottenInUnshardedFile: Buffer[] = [];

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#sweptAt = now();
  }

  get size(): number {
    return this.#bySession.size;
  }

  all(): OutcomeEntry[] {
    return [...this.#bySession.values()];
  }

  /** Takes in what the instance's file says, oldest row first. Of a session the later transaction counts. */
  loadRows(rows: readonly OutcomeRow[]): void {
    for (const { groupNo, outcomes } of rows) {
      const entries = outcomes.map(({ session, no, runs }) => {
        const entry = this.#entry(session);
        if (no >= entry.no) {
          entry.committed(no, runs);
          entry.row = groupNo;
        }
        return entry;
      });
      this.addRow({ groupNo, entries });
    }
  }

  /** Takes in what the file of the unsharded queues says; a session may have worked on both kinds. */
  loadUnsharded(outcomes: readonly SessionOutcome[]): void {
    for (const { session, no, runs } of outcomes) {
      const entry = this.#entry(session);
      entry.inUnshardedFile = true;
      if (no <= entry.no) continue;
      entry.committed(no, runs);
      entry.row = 0;
    }
  }

  /** A group has stored a row. */
  addRow(row: StoredRow): void {
    this.#rows.push(row);
  }

  /** Rows that the next group removes, after it has carried on what still counts of them. */
  takeOldRows(): StoredRow[] {
    return this.#rows.length >= rowsMax ? this.#rows.splice(0, rowsRemovedTogether) : noRows;
  }

  giveOldRowsBack(rows: readonly StoredRow[]): void {
    if (rows.length === 0) return;
    this.#rows.push(...rows);
    this.#rows.sort((a, b) => a.groupNo - b.groupNo);
  }

  #entry(session: Uint8Array): OutcomeEntry {
    const own = Buffer.from(session); // the caller's may be part of a large buffer
    const key = own.toString('latin1');
    let entry = this.#bySession.get(key);
    if (entry === undefined) {
      entry = new OutcomeEntry(own, this.#now());
      this.#bySession.set(key, entry);
    }
    return entry;
  }

  /**
   * The session is its new owner's from here on, and no longer that of the one it replaces. Throws `SESSION_CLOSED` to a
   * connection that was itself replaced before it was heard, `SESSIONS_FULL`.
   */
  attach(by: { session: Uint8Array; attachment: number; owner: SessionOwner }): {
    entry: OutcomeEntry;
    replaced: SessionOwner | undefined;
  } {
    this.#sweep();
    const entry = this.#entry(by.session);
    if (by.attachment <= entry.attachment) {
      throw new QueueError('SESSION_CLOSED', { sentence: 'The session went on over another connection' });
    }
    if (this.#bySession.size > limits.outcomesMax && entry.attachment + entry.no === 0) {
      this.#bySession.delete(entry.session.toString('latin1'));
      const sentence = `The last transactions of ${limits.outcomesMax} sessions are remembered, as many as may be`;
      throw new QueueError('SESSIONS_FULL', { sentence });
    }
    const replaced = entry.owner;
    entry.owner = by.owner;
    entry.attachment = by.attachment;
    return { entry, replaced };
  }

  /** The connection was lost: the client may come back. */
  detach(entry: OutcomeEntry, owner: SessionOwner): void {
    if (entry.owner !== owner) return;
    entry.owner = undefined;
    entry.detachedAt = this.#now();
  }

  /** The session was closed in order: nobody will ask. */
  forget(entry: OutcomeEntry, owner: SessionOwner): void {
    if (entry.owner !== owner) return;
    this.detach(entry, owner);
    // What a lost connection sent before may still be unread; the entry is what refuses it.
    if (entry.attachment === 1) this.#remove(entry);
  }

  #remove(entry: OutcomeEntry): void {
    entry.forgotten = true; // its rows in the instance's file go as they become old
    this.#bySession.delete(entry.session.toString('latin1'));
    if (entry.inUnshardedFile) this.forgottenInUnshardedFile.push(entry.session);
  }

  #sweep(): void {
    const now = this.#now();
    if (now - this.#sweptAt < sweepMs) return;
    this.#sweptAt = now;
    for (const entry of this.#bySession.values()) {
      if (entry.owner === undefined && now - entry.detachedAt > limits.outcomeKeptMs) this.#remove(entry);
    }
  }
}
