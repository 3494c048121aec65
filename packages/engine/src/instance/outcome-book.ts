/**
 * What an instance remembers of its remote sessions' last transactions, in memory; each entry is durable with the commit
 * that it tells of. A client whose answer was lost comes back and asks here (`cluster/remote/`).
 *
 * An entry stays while its session is attached, and for `outcomeKeptMs` after the connection was lost; a session that is
 * closed in order takes its entry with it. At the bound no new session is let in: forgetting an entry early could make a
 * client believe that its transaction was not committed.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { IdRun } from '../storage/id-runs.ts';
import type { SessionOutcome } from '../storage/session-outcome.ts';

export class OutcomeEntry {
  readonly session: Buffer;
  /** The last transaction that committed; 0: none. */
  no = 0;
  runs: readonly IdRun[] = [];
  /** On the monotonic clock; undefined while the session is attached. */
  detachedAt: number | undefined;
  /** Which files have a row of it. */
  inInstanceFile = false;
  inUnshardedFile = false;

  constructor(session: Buffer) {
    this.session = session;
  }

  /** A transaction of the session is durable. */
  committed(no: number, runs: readonly IdRun[]): void {
    this.no = no;
    this.runs = runs;
  }
}

const sweepMs = 10_000;

export class OutcomeBook {
  readonly #bySession = new Map<string, OutcomeEntry>();
  #sweptAt = performance.now();
  /** Sessions whose rows are to go with a next write to the file. */
  readonly forgottenInInstanceFile: Buffer[] = [];
  readonly forgottenInUnshardedFile: Buffer[] = [];

  get size(): number {
    return this.#bySession.size;
  }

  /** Takes in what a file says; a session may have a row in each of the two, and the later transaction counts. */
  load(outcomes: readonly SessionOutcome[], file: 'instance' | 'unsharded'): void {
    for (const { session, no, runs } of outcomes) {
      const entry = this.#entry(session);
      entry.detachedAt ??= performance.now();
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
      entry = new OutcomeEntry(own);
      this.#bySession.set(key, entry);
    }
    return entry;
  }

  /** The session is served from here on. Throws `SESSIONS_FULL`. */
  attach(session: Buffer): OutcomeEntry {
    this.#sweep();
    if (this.#bySession.size >= limits.outcomesMax && !this.#bySession.has(session.toString('latin1'))) {
      const sentence = `The last transactions of ${limits.outcomesMax} lost sessions are kept, as many as may be`;
      throw new QueueError('SESSIONS_FULL', { sentence });
    }
    const entry = this.#entry(session);
    entry.detachedAt = undefined;
    return entry;
  }

  /** The connection was lost: the client may come back. */
  detach(entry: OutcomeEntry): void {
    entry.detachedAt = performance.now();
  }

  /** The session was closed in order: nobody will ask. */
  forget(entry: OutcomeEntry): void {
    this.#bySession.delete(entry.session.toString('latin1'));
    if (entry.inInstanceFile) this.forgottenInInstanceFile.push(entry.session);
    if (entry.inUnshardedFile) this.forgottenInUnshardedFile.push(entry.session);
  }

  #sweep(): void {
    const now = performance.now();
    if (now - this.#sweptAt < sweepMs) return;
    this.#sweptAt = now;
    for (const entry of this.#bySession.values()) {
      if (entry.detachedAt !== undefined && now - entry.detachedAt > limits.outcomeKeptMs) this.forget(entry);
    }
  }
}
