/**
 * A session's reservation of the writer: statements of the application are answered at once, inside a transaction of the
 * file that stays open between them. The group with the session's commit is written in that same transaction, so rows and
 * messages are durable together. No other group is written until then, so a reservation expires after a bounded time, and
 * its statements are undone.
 */
import { QueueError } from '../api/errors.ts';
import type { SqlResult } from '../api/sql.ts';
import type { StatementAnswer } from '../model/group-message.ts';
import type { Timer, Timers } from '../model/ports.ts';
import type { SqlStatement } from '../model/sql-statement.ts';
import { fromStorageFailure } from '../model/storage-failure.ts';
import type { WriterPort } from './writer-port.ts';

export interface WriterReservationOptions {
  writer: Pick<WriterPort, 'executeStatement'>;
  timers: Timers;
  /** Frees the writer for others, unless the reservation's commit has begun. */
  onReleased(reservation: WriterReservation): void;
}

export class WriterReservation {
  readonly #options: WriterReservationOptions;
  #expiry: Timer | undefined;
  /** Why the work done under the reservation can no longer be committed. */
  #lostError: QueueError | undefined;
  #running = false;

  constructor(options: WriterReservationOptions) {
    this.#options = options;
  }

  /** The reservation begins, and lasts `msMax` at the most. */
  startExpiry(msMax: number): void {
    // Keeps the process alive, because commits of other sessions are waiting.
    this.#expiry = this.#options.timers.deadline(msMax, () =>
      this.#invalidate(new QueueError('WRITER_RESERVATION_EXPIRED', { details: { msMax } })),
    );
  }

  /** A statement that fails is undone by itself, and the reservation stays; one that took too long ends it. */
  async query(statement: SqlStatement): Promise<SqlResult> {
    this.assertHeld();
    const { outcome, storageFailure } = await this.#run(statement);
    if (storageFailure !== null) this.#invalidate(fromStorageFailure(storageFailure));
    this.assertHeld();
    if (outcome.failure !== null) {
      const error = fromStorageFailure(outcome.failure);
      // It may have been undone alone or have ended with its process, as it happened: the caller gets one rule.
      if (error.code === 'SQL_TOO_SLOW') this.#invalidate(error);
      throw error;
    }
    return outcome.results[0]!;
  }

  async #run(statement: SqlStatement): Promise<StatementAnswer> {
    this.#running = true;
    try {
      return await this.#options.writer.executeStatement(statement);
    } finally {
      this.#running = false;
      if (this.#lostError !== undefined) this.release();
    }
  }

  /** Throws `WRITER_RESERVATION_EXPIRED`, or the storage failure that undid the statements. */
  assertHeld(): void {
    if (this.#lostError !== undefined) throw this.#lostError;
  }

  /** Call it before the commit, which has no time limit. Throws as `assertHeld` does. */
  stopExpiry(): void {
    this.assertHeld();
    this.#expiry?.cancel();
  }

  release(): void {
    this.#expiry?.cancel();
    this.#options.onReleased(this);
  }

  #invalidate(error: QueueError): void {
    this.#lostError = error;
    if (!this.#running) this.release(); // a running statement has its own time limit: released once it is answered
  }
}
