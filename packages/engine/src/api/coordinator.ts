/** A transaction manager of the engine's own: see `docs/decisions/xa.md`. */
import type { Session } from './session.ts';
import type { XaStartOptions, Xid } from './xa.ts';

/** What its branches have in common. */
export type GlobalTransactionOptions = Omit<XaStartOptions, 'flag'>;

/** A distributed transaction of a coordinator. */
export interface GlobalTransaction {
  readonly gtrid: Uint8Array;
  /**
   * The session, which must be one of this participant, works in a branch of the transaction until its end. Rejects with
   * what `XaSession.start` rejects with, and the transaction is then rolled back.
   */
  enlist(participant: string, session: Session): Promise<void>;
  /**
   * Resolves once the commit is decided, all or nothing: what a participant that failed meanwhile has of it is committed when
   * it is back. Rejects with the first error, and all is rolled back; with `COMMIT_OUTCOME_UNKNOWN` if an instance ended at the
   * moment of the decision: then `resolve`, after that instance is open again, makes it one or the other, and the same
   * everywhere.
   */
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface ResolvedBranch {
  participant: string;
  xid: Xid;
  outcome: 'committed' | 'rolled back';
}

/** A transaction manager for applications that have none. Its decisions are stored with the instance that it was made for. */
export interface TransactionCoordinator {
  /**
   * Each branch has `timeoutMs` from its start until it is prepared: see `XaStartOptions`. The home instance of a tightly coupled
   * transaction is by default that of its first branch.
   */
  begin(options?: GlobalTransactionOptions): GlobalTransaction;
  /**
   * Ends the branches in doubt of this coordinator's earlier transactions. To be called once all participants can be asked;
   * then it repeats itself as long as some do not answer. Branches of other transaction managers are left alone.
   */
  resolve(): Promise<ResolvedBranch[]>;
  /** Transactions under way end as they can; nothing is resolved any more. */
  close(): void;
}
