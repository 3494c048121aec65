/**
 * The outcome of each remote session's last transaction, in memory; the commit itself makes it durable. A client whose answer was
 * lost reconnects and asks here whether its transaction committed.
 *
 * An entry is kept while its session is connected, and for `limits.outcomeRetentionMs` after the connection was lost; the entry
 * of a session that is closed cleanly is removed at once. At the bound new sessions are refused: forgetting an entry early could
 * make a client believe that its transaction was not committed.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { AttachmentNumber, GroupNumber, TransactionNumber } from '../model/ids.ts';
import type { Clock } from '../model/ports.ts';
import type { GroupOutcomeRow, SessionOutcome } from '../model/session-outcome.ts';

/** The connection that serves a session: one at a time. */
export interface SessionConnection {
  /** Another connection serves the session from now on. Resolves when the commit in progress, if any, has ended. */
  detach(): Promise<void>;
}

export class OutcomeEntry {
  readonly sessionId: Buffer;
  /** Number of the last transaction that committed; 0: none. */
  transactionNumber: TransactionNumber = 0;
  idRuns: readonly IdRun[] = [];
  connection: SessionConnection | undefined;
  /** How often the client has attached the session. The connection with the highest number serves it. */
  attachmentNumber: AttachmentNumber = 0;
  /** When the last connection was lost, on the monotonic clock. */
  detachedAtMs: number;
  /** The group whose row in the instance's file has `transactionNumber`; 0: none. */
  rowGroupNumber: GroupNumber = 0;
  /** The file of the unsharded queues has a row for the session. */
  inUnshardedFile = false;
  forgotten = false;

  constructor(sessionId: Buffer, nowMs: number) {
    this.sessionId = sessionId;
    this.detachedAtMs = nowMs;
  }

  /** A transaction of the session is durable. */
  recordCommit(transactionNumber: TransactionNumber, idRuns: readonly IdRun[]): void {
    this.transactionNumber = transactionNumber;
    this.idRuns = idRuns;
  }
}

/** A row in the instance's file: the outcomes that one group stored. */
export interface StoredOutcomeRow {
  groupNumber: GroupNumber;
  entries: readonly OutcomeEntry[];
}

/**
 * Rows in the instance's file before the oldest are removed. Outcomes in them that still count, of sessions that have not
 * committed since, are written again: 5 KB a group on average with 10,000 idle sessions.
 */
const rowsMax = 96;
/** Removed together, since each removal writes a page that the group would not write otherwise. */
const rowsRemovedTogether = 32;
const noRows: StoredOutcomeRow[] = [];

const expiryCheckMs = 10_000;

export class CommitOutcomes {
  readonly #clock: Clock;
  readonly #bySession = new Map<string, OutcomeEntry>();
  #expiryCheckedAtMs: number;
  /** Rows of the instance's file, oldest first. */
  readonly #rows: StoredOutcomeRow[] = [];
  /** Sessions whose rows the next write to the file of the unsharded queues removes. */
  readonly sessionsToForgetInUnshardedFile: Buffer[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#expiryCheckedAtMs = clock.monotonicMs();
  }

  get size(): number {
    return this.#bySession.size;
  }

  all(): OutcomeEntry[] {
    return [...this.#bySession.values()];
  }

  /** Loads the rows of the instance's file, oldest first. Of several outcomes of a session the latest counts. */
  loadRows(rows: readonly GroupOutcomeRow[]): void {
    for (const { groupNumber, outcomes } of rows) {
      const entries = outcomes.map(({ sessionId, transactionNumber, enqueuedIdRuns }) => {
        const entry = this.#entryOf(sessionId);
        if (transactionNumber >= entry.transactionNumber) {
          entry.recordCommit(transactionNumber, enqueuedIdRuns);
          entry.rowGroupNumber = groupNumber;
        }
        return entry;
      });
      this.addRow({ groupNumber, entries });
    }
  }

  /** Loads the rows of the file of the unsharded queues; a session may have used both kinds of queue. */
  loadUnsharded(outcomes: readonly SessionOutcome[]): void {
    for (const { sessionId, transactionNumber, enqueuedIdRuns } of outcomes) {
      const entry = this.#entryOf(sessionId);
      entry.inUnshardedFile = true;
      if (transactionNumber <= entry.transactionNumber) continue;
      entry.recordCommit(transactionNumber, enqueuedIdRuns);
      entry.rowGroupNumber = 0;
    }
  }

  /** A group has stored a row. */
  addRow(row: StoredOutcomeRow): void {
    this.#rows.push(row);
  }

  /** Rows that the next group removes, after it has written again the outcomes in them that still count. */
  takeOldRows(): StoredOutcomeRow[] {
    return this.#rows.length >= rowsMax ? this.#rows.splice(0, rowsRemovedTogether) : noRows;
  }

  restoreOldRows(rows: readonly StoredOutcomeRow[]): void {
    if (rows.length === 0) return;
    this.#rows.push(...rows);
    this.#rows.sort((a, b) => a.groupNumber - b.groupNumber);
  }

  #entryOf(sessionId: Uint8Array): OutcomeEntry {
    const copy = Buffer.from(sessionId); // the caller's may be part of a large buffer
    const key = keyOf(copy);
    let entry = this.#bySession.get(key);
    if (entry === undefined) {
      entry = new OutcomeEntry(copy, this.#clock.monotonicMs());
      this.#bySession.set(key, entry);
    }
    return entry;
  }

  /**
   * Attaches a connection to the session, replacing an earlier one. Throws `SESSIONS_FULL`, and `SESSION_CLOSED` if a later
   * connection of the session has attached already.
   */
  attach(by: { session: Uint8Array; attachment: AttachmentNumber; owner: SessionConnection }): {
    entry: OutcomeEntry;
    replaced: SessionConnection | undefined;
  } {
    this.#removeExpired();
    const known = this.#bySession.get(keyOf(by.session));
    if (by.attachment <= (known?.attachmentNumber ?? 0)) {
      throw new QueueError('SESSION_CLOSED', { message: 'Another connection serves the session' });
    }
    if (known === undefined && this.#bySession.size >= limits.outcomesMax) {
      throw new QueueError('SESSIONS_FULL', {
        message: `Too many remote sessions, open or lost within the last ${limits.outcomeRetentionMs / 60_000} minutes (limit ${limits.outcomesMax})`,
      });
    }
    const entry = known ?? this.#entryOf(by.session);
    const replaced = entry.connection;
    entry.connection = by.owner;
    entry.attachmentNumber = by.attachment;
    return { entry, replaced };
  }

  /** The connection was lost; the client may reconnect. */
  detach(entry: OutcomeEntry, owner: SessionConnection): void {
    if (entry.connection !== owner) return;
    entry.connection = undefined;
    entry.detachedAtMs = this.#clock.monotonicMs();
  }

  /** Forgets the outcome of a session that was closed cleanly: no client will ask for it. */
  forget(entry: OutcomeEntry, owner: SessionConnection): void {
    if (entry.connection !== owner) return;
    this.detach(entry, owner);
    // Requests of a lost connection may still be unread; the entry refuses them.
    if (entry.attachmentNumber === 1) this.#remove(entry);
  }

  #remove(entry: OutcomeEntry): void {
    entry.forgotten = true; // its rows in the instance's file are removed when they are old
    this.#bySession.delete(keyOf(entry.sessionId));
    if (entry.inUnshardedFile) this.sessionsToForgetInUnshardedFile.push(entry.sessionId);
  }

  #removeExpired(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#expiryCheckedAtMs < expiryCheckMs) return;
    this.#expiryCheckedAtMs = nowMs;
    for (const entry of this.#bySession.values()) {
      if (entry.connection === undefined && nowMs - entry.detachedAtMs > limits.outcomeRetentionMs)
        this.#remove(entry);
    }
  }
}

const keyOf = (sessionId: Uint8Array): string => Buffer.from(sessionId).toString('latin1');
