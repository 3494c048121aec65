/** Rows of an instance's file about distributed transactions. */

/** A prepared branch. Its key is the xid. */
export interface PreparedBranchRow {
  formatId: number;
  gtrid: Uint8Array;
  bqual: Uint8Array;
  /** The encoded work of its commit: see `xa/branch-content.ts`. */
  content: Uint8Array;
  /** Its changes of the application's rows, as JSON (see `storage/application-sql/branch-rows.ts`); '' if there are none. */
  rows: string;
  /** Epoch ms. */
  preparedAtMs: number;
}

export type PreparedBranchKey = Pick<PreparedBranchRow, 'formatId' | 'gtrid' | 'bqual'>;

/** A global transaction that its coordinator has decided to commit. */
export interface DecisionRow {
  gtrid: Uint8Array;
  /** The names of the participants that have a branch to commit, as a JSON list. */
  participants: string;
  /** Epoch ms. */
  decidedAtMs: number;
}
