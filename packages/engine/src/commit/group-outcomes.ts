/**
 * The outcomes that one group stores: those of its own transactions, and those in old rows that are still needed, which it
 * rewrites so that the old rows can be removed. Built once the group's messages are numbered.
 */

import type { EncodedOutcomes } from '../model/group-message.ts';
import type { IdRun } from '../model/id-runs.ts';
import type { GroupNumber, TransactionNumber } from '../model/ids.ts';
import { encodedOutcomeBytes, encodeOutcome } from '../model/session-outcome.ts';
import type { CommitOutcomes, OutcomeEntry, StoredOutcomeRow } from './commit-outcomes.ts';
import type { StagedTransaction } from './staged-transaction.ts';
import { enqueuedIds } from './staged-transaction.ts';
import type { GroupMember } from './system-write.ts';

interface StoredOutcome {
  entry: OutcomeEntry;
  transactionNumber: TransactionNumber;
  idRuns: readonly IdRun[];
  /** The transaction of this group; absent where the outcome is repeated from an old row. */
  transaction?: StagedTransaction;
}

export class GroupOutcomes {
  readonly bytes: number;
  /** Those of the group's own transactions come first. */
  readonly #stored: StoredOutcome[] = [];
  readonly #ownCount: number;
  /** The positions of the outcomes of transactions with statements. */
  readonly #locations = new Map<GroupMember, { offset: number; length: number }>();
  readonly #retiredRows: StoredOutcomeRow[];
  readonly #outcomes: CommitOutcomes;

  constructor(members: readonly GroupMember[], outcomes: CommitOutcomes) {
    this.#outcomes = outcomes;
    for (const member of members) {
      if (member.kind !== 'transaction' || member.outcome === undefined) continue;
      const { entry, transactionNumber, runOfCall } = member.outcome;
      const idRuns = enqueuedIds(member, runOfCall);
      this.#stored.push({ entry, transactionNumber, idRuns, transaction: member });
    }
    this.#ownCount = this.#stored.length;
    this.#retiredRows = outcomes.takeOldRows();
    for (const row of this.#retiredRows) {
      for (const entry of row.entries) {
        if (entry.rowGroupNumber === row.groupNumber && !entry.forgotten) {
          this.#stored.push({ entry, transactionNumber: entry.transactionNumber, idRuns: entry.idRuns });
        }
      }
    }
    let bytes = 0;
    for (const { idRuns } of this.#stored) bytes += encodedOutcomeBytes(idRuns);
    this.bytes = bytes;
  }

  write(target: Buffer, offset: number): EncodedOutcomes {
    let end = offset;
    for (const { entry, transactionNumber, idRuns, transaction } of this.#stored) {
      const start = end;
      const { sessionId } = entry;
      end = encodeOutcome(target, start, { sessionId, transactionNumber, enqueuedIdRuns: idRuns });
      if (transaction?.sql !== undefined)
        this.#locations.set(transaction, { offset: start, length: end - start });
    }
    const retiredThroughGroup = this.#retiredRows.at(-1)?.groupNumber ?? 0;
    return { offset, length: end - offset, retiredThroughGroup };
  }

  /** Returns the position of the outcome of a transaction with statements; null if it has none. */
  locationOf(member: GroupMember): { offset: number; length: number } | null {
    return this.#locations.get(member) ?? null;
  }

  /** The group is durable, without the members in `failed`. */
  onDurable(groupNumber: GroupNumber, failed: ReadonlyMap<GroupMember, unknown> = new Map()): void {
    const entries: OutcomeEntry[] = [];
    for (const [index, { entry, transactionNumber, idRuns, transaction }] of this.#stored.entries()) {
      if (transaction !== undefined && failed.has(transaction)) continue;
      if (index < this.#ownCount) entry.recordCommit(transactionNumber, idRuns);
      else if (entry.transactionNumber !== transactionNumber) continue; // a group in between has stored a later one
      entry.rowGroupNumber = groupNumber;
      entries.push(entry);
    }
    if (entries.length > 0) this.#outcomes.addRow({ groupNumber, entries });
  }

  /** The group had nothing to write, so its outcomes are remembered in memory only. */
  onAppliedInMemory(): void {
    for (const { entry, transactionNumber, idRuns } of this.#stored.slice(0, this.#ownCount))
      entry.recordCommit(transactionNumber, idRuns);
    this.onFailed();
  }

  /** The old rows are still in the file: a later group removes them. */
  onFailed(): void {
    this.#outcomes.restoreOldRows(this.#retiredRows);
  }
}
