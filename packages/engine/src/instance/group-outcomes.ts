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

interface StoredOutcome {
  entry: OutcomeEntry;
  no: number;
  runs: readonly IdRun[];
  /** Of this group; absent where it is carried on from an older row. */
  transaction?: StagedTransaction;
}

export class GroupOutcomes {
  readonly bytes: number;
  /** Those of its own transactions come first. */
  readonly #stored: StoredOutcome[] = [];
  readonly #own: number;
  /** Where those of its own transactions were written that have statements. */
  readonly #places = new Map<StagedTransaction, { offset: number; length: number }>();
  readonly #retired: StoredRow[];
  readonly #book: OutcomeBook;

  constructor(transactions: readonly StagedTransaction[], book: OutcomeBook) {
    this.#book = book;
    for (const transaction of transactions) {
      const { outcome } = transaction;
      if (outcome === undefined) continue;
      const runs = enqueuedIds(transaction, outcome.runOfCall);
      this.#stored.push({ entry: outcome.entry, no: outcome.no, runs, transaction });
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
    for (const { entry, no, runs, transaction } of this.#stored) {
      const start = at;
      at = writeOutcome(target, at, { session: entry.session, no, runs });
      if (transaction?.sql !== undefined)
        this.#places.set(transaction, { offset: start, length: at - start });
    }
    return { offset, length: at - offset, retired: this.#retired.at(-1)?.groupNo ?? 0 };
  }

  /** Where the outcome of a transaction with statements was written, if one was. */
  placeOf(transaction: StagedTransaction): { offset: number; length: number } | null {
    return this.#places.get(transaction) ?? null;
  }

  /** The group is durable, but for these transactions. */
  applied(groupNo: number, failed: ReadonlyMap<StagedTransaction, unknown> = new Map()): void {
    const entries: OutcomeEntry[] = [];
    for (const [index, { entry, no, runs, transaction }] of this.#stored.entries()) {
      if (transaction !== undefined && failed.has(transaction)) continue;
      if (index < this.#own) entry.committed(no, runs);
      else if (entry.no !== no) continue; // a group in between has stored a later one
      entry.row = groupNo;
      entries.push(entry);
    }
    if (entries.length > 0) this.#book.addRow({ groupNo, entries });
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
