/**
 * The transactions that are coordinated on an instance: decisions to commit are rows of its file; transactions under way are in
 * memory. A transaction without a row is rolled back, so one whose decision was never durable needs none.
 */

import type { GroupCommit } from '../../commit/group-commit.ts';
import type { GlobalTransactionNumber } from '../../model/ids.ts';
import type { Clock } from '../../model/ports.ts';
import type { DecisionRow } from '../../model/xa-rows.ts';

export class Decisions {
  readonly #groupCommit: GroupCommit;
  readonly #clock: Clock;
  /** Names of the participants that have a branch to commit, by global transaction id in hexadecimal. */
  readonly #participants: Map<string, readonly string[]>;
  /** Global transaction ids in hexadecimal. */
  readonly #underWay = new Set<string>();
  #lastNumber: GlobalTransactionNumber = 0;

  constructor(groupCommit: GroupCommit, clock: Clock, recovered: readonly DecisionRow[]) {
    this.#groupCommit = groupCommit;
    this.#clock = clock;
    this.#participants = new Map(
      recovered.map(({ gtrid, participants }) => [keyOf(gtrid), JSON.parse(participants) as string[]]),
    );
  }

  /** Number of a new transaction: unique in this opening of the instance, over all its coordinators. */
  nextNumber(): GlobalTransactionNumber {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  begin(gtrid: Uint8Array): void {
    this.#underWay.add(keyOf(gtrid));
  }

  /** Its calls have ended; whether its branches have, `resolve` finds out. */
  end(gtrid: Uint8Array): void {
    this.#underWay.delete(keyOf(gtrid));
  }

  isUnderWay(gtrid: Uint8Array): boolean {
    return this.#underWay.has(keyOf(gtrid));
  }

  /** Global transaction ids. */
  get all(): Buffer[] {
    return [...this.#participants.keys()].map((key) => Buffer.from(key, 'hex'));
  }

  has(gtrid: Uint8Array): boolean {
    return this.#participants.has(keyOf(gtrid));
  }

  participantsOf(gtrid: Uint8Array): readonly string[] {
    return this.#participants.get(keyOf(gtrid)) ?? [];
  }

  /** Resolves once the decision is on disk: only then may a branch commit. Rejects with the storage errors. */
  async decide(gtrid: Uint8Array, participants: readonly string[]): Promise<void> {
    const decidedAtMs = this.#clock.epochMs();
    const row = { gtrid: Uint8Array.from(gtrid), participants: JSON.stringify(participants), decidedAtMs };
    await this.#groupCommit.write({ sync: 'FULL', onClose: () => [{ kind: 'decide commit', row }] });
    this.#participants.set(keyOf(gtrid), [...participants]);
  }

  /**
   * No branch of it is left. Without a sync: a decision that a power cut brings back is forgotten again. If it rejects, the decision
   * stays, to be forgotten later.
   */
  async forget(gtrid: Uint8Array): Promise<void> {
    await this.#groupCommit.write({
      sync: 'NORMAL',
      background: true,
      onClose: () => [{ kind: 'forget decision', gtrid: Uint8Array.from(gtrid) }],
    });
    this.#participants.delete(keyOf(gtrid));
  }

  /** Why it is not known whether the last decision is on disk; undefined while it is. */
  get failure() {
    return this.#groupCommit.failure;
  }
}

function keyOf(gtrid: Uint8Array): string {
  return Buffer.from(gtrid).toString('hex');
}
