/**
 * A session's turn at the writer: statements of the application that are answered at once, in a transaction of the file that
 * stays open between them. The group that its commit closes goes on in that transaction, so rows and messages are durable
 * together. Until then no group is written: the hold ends by itself after a bounded time, and what it did is undone.
 */
import { QueueError } from '../core/errors.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import type { StatementAnswer } from '../storage/group-message.ts';
import { fromFailure } from '../storage/storage-failure.ts';
import type { SqlResult } from '../types.ts';

export interface HeldWriter {
  execute(statement: SqlStatement): Promise<StatementAnswer>;
  /** Gives the writer back, unless a commit has taken the hold over. */
  release(hold: WriterHold): void;
}

export class WriterHold {
  readonly #writer: HeldWriter;
  #expiry: NodeJS.Timeout | undefined;
  /** Why nothing of it can be committed any more. */
  #lost: QueueError | undefined;
  #running = false;

  constructor(writer: HeldWriter) {
    this.#writer = writer;
  }

  /** The writer is this session's: `msMax` from now on at the most. */
  begin(msMax: number): void {
    // Keeps the process alive: the commits of others wait for it.
    this.#expiry = setTimeout(
      () => this.#lose(new QueueError('SQL_HOLD_EXPIRED', { details: { msMax } })),
      msMax,
    );
  }

  /** One that fails is undone by itself, and the hold goes on. */
  async query(statement: SqlStatement): Promise<SqlResult> {
    this.assertHeld();
    const { outcome, lost } = await this.#run(statement);
    if (lost !== null) this.#lose(fromFailure(lost));
    this.assertHeld();
    if (outcome.failure !== null) throw fromFailure(outcome.failure);
    return outcome.results[0]!;
  }

  async #run(statement: SqlStatement): Promise<StatementAnswer> {
    this.#running = true;
    try {
      return await this.#writer.execute(statement);
    } finally {
      this.#running = false;
      if (this.#lost !== undefined) this.release();
    }
  }

  /** Throws `SQL_HOLD_EXPIRED`, or the failure of storage that undid it. */
  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** For a commit, which takes as long as it takes. Throws as `assertHeld`. */
  keep(): void {
    this.assertHeld();
    clearTimeout(this.#expiry);
  }

  release(): void {
    clearTimeout(this.#expiry);
    this.#writer.release(this);
  }

  #lose(error: QueueError): void {
    this.#lost = error;
    if (!this.#running) this.release(); // else once the statement is answered: nothing can stop it
  }
}
