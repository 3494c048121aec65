/**
 * The outcomes that a group makes durable, gathered once its messages are numbered: those of its own transactions, and
 * what still counts of old rows, which it removes.
 */
import type { OutcomeEntries } from '../storage/group-message.ts';
import type { IdRun } from '../storage/id-runs.ts';
import { outcomeBytes, writeOutcome } from '../storage/session-outcome.ts';
import { enqueuedIds } from './enqueued-ids.ts';
import type { OutcomeBook, OutcomeEntry, StoredRow } from './outcome-book.ts';
import type { StagedTransaction } from './staged-transaction.ts';

export class GroupOutcomes {
  readonly bytes: number;
  /** Those of its own transactions come first. */
  readonly #stored: { entry: OutcomeEntry; no: number; runs: readonly IdRun[] }[] = [];
  readonly #own: number;
  readonly #retired: StoredRow[];
  readonly #book: OutcomeBook;

  constructor(transactions: readonly StagedTransaction[], book: OutcomeBook) {
    this.#book = book;
    for (const transaction of transactions) {
      const { outcome } = transaction;
      if (outcome === undefined) continue;
      const runs = enqueuedIds(transaction, outcome.runOfCall);
      this.#stored.push({ entry: outcome.entry, no: outcome.no, runs });
    }
    this.#own = this.#stored.length;
    this.#retired = book.takeOldRows();
    for (const row of this.#retired) {
      for (const entry of row.entries) {
        if (entry.row === row.groupNo && !entry.forgotten) {
          this.#stored.push({ entry, no: entry.no, runs: entry.runs });
        }
      }
    }
    let bytes = 0;
    for (const { runs } of this.#stored) bytes += outcomeBytes(runs);
    this.bytes = bytes;
  }

  write(target: Buffer, offset: number): OutcomeEntries {
    let at = offset;
    for (const { entry, no, runs } of this.#stored) {
      at = writeOutcome(target, at, { session: entry.session, no, runs });
    }
    return { offset, length: at - offset, retired: this.#retired.at(-1)?.groupNo ?? 0 };
  }

  /** The group is durable. */
  applied(groupNo: number): void {
    if (this.#stored.length === 0) return;
    const entries: OutcomeEntry[] = [];
    for (const [index, { entry, no, runs }] of this.#stored.entries()) {
      if (index < this.#own) entry.committed(no, runs);
      else if (entry.no !== no) continue; // a group in between has stored a later one
      entry.row = groupNo;
      entries.push(entry);
    }
    this.#book.addRow({ groupNo, entries });
  }

  /** The group had nothing that needs to be written, so its outcomes were not either. */
  appliedInMemory(): void {
    for (const { entry, no, runs } of this.#stored.slice(0, this.#own)) entry.committed(no, runs);
    this.failed();
  }

  /** A later group removes the old rows. */
  failed(): void {
    this.#book.giveOldRowsBack(this.#retired);
  }
}
