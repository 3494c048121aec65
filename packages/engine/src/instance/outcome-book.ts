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
import type { SessionOutcome } from '../storage/session-outcome.ts';

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
  /** Which files have a row of it. */
  inInstanceFile = false;
  inUnshardedFile = false;

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

const sweepMs = 10_000;

export class OutcomeBook {
  readonly #now: () => number;
  readonly #bySession = new Map<string, OutcomeEntry>();
  #sweptAt: number;
  /** Sessions whose rows are to go with a next write to the file. */
  readonly forgottenInInstanceFile: Buffer[] = [];
  readonly forgottenInUnshardedFile: Buffer[] = [];

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#sweptAt = now();
  }

  get size(): number {
    return this.#bySession.size;
  }

  /** Takes in what a file says; a session may have a row in each of the two, and the later transaction counts. */
  load(outcomes: readonly SessionOutcome[], file: 'instance' | 'unsharded'): void {
    for (const { session, no, runs } of outcomes) {
      const entry = this.#entry(session);
      if (no > entry.no) entry.committed(no, runs);
      if (file === 'instance') entry.inInstanceFile = true;
      else entry.inUnshardedFile = true;
    }
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
    this.#bySession.delete(entry.session.toString('latin1'));
    if (entry.inInstanceFile) this.forgottenInInstanceFile.push(entry.session);
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
