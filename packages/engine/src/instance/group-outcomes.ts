/** The outcomes that a group makes durable, and the sessions that it forgets; gathered once its messages are numbered. */
import type { OutcomeEntries } from '../storage/group-message.ts';
import type { IdRun } from '../storage/id-runs.ts';
import { outcomeBytes, sessionBytes, writeOutcome } from '../storage/session-outcome.ts';
import { enqueuedIds } from './enqueued-ids.ts';
import type { OutcomeBook, OutcomeEntry } from './outcome-book.ts';
import type { StagedTransaction } from './staged-transaction.ts';

/** More would make one group long; the others wait for the next. */
const forgottenPerGroupMax = 1_024;

export class GroupOutcomes {
  readonly bytes: number;
  readonly #stored: { entry: OutcomeEntry; no: number; runs: IdRun[] }[] = [];
  readonly #forgotten: Buffer[];
  readonly #book: OutcomeBook;

  constructor(transactions: readonly StagedTransaction[], book: OutcomeBook) {
    this.#book = book;
    this.#forgotten = book.forgottenInInstanceFile.splice(0, forgottenPerGroupMax);
    let bytes = this.#forgotten.length * sessionBytes;
    for (const transaction of transactions) {
      const { outcome } = transaction;
      if (outcome === undefined) continue;
      const ids = enqueuedIds(transaction, outcome.runOfCall);
      this.#stored.push({ entry: outcome.entry, no: outcome.no, runs: ids });
      bytes += outcomeBytes(ids);
    }
    this.bytes = bytes;
  }

  write(target: Buffer, offset: number): OutcomeEntries {
    let at = offset;
    for (const { entry, no, runs } of this.#stored) {
      at = writeOutcome(target, at, { session: entry.session, no, runs });
    }
    for (const session of this.#forgotten) at += session.copy(target, at);
    return { offset, stored: this.#stored.length, forgotten: this.#forgotten.length };
  }

  /** The group is durable, or had nothing that needs to be. */
  applied({ written }: { written: boolean }): void {
    for (const { entry, no, runs } of this.#stored) {
      entry.committed(no, runs);
      entry.inInstanceFile ||= written;
    }
  }

  /** The group failed: a later one forgets what it should have. */
  failed(): void {
    this.#book.forgottenInInstanceFile.push(...this.#forgotten);
  }
}
