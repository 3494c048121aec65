/** A transaction manager of the engine's own: see `docs/decisions/xa.md`. */
import type { Session } from './session.ts';
import type { XaStartOptions, Xid } from './xa.ts';

/** Start options that all its branches share. */
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
   * Resolves once the commit is decided, all or nothing: the branch of a participant that has failed in between is committed when
   * the participant is back. Rejects with the first error, and everything is rolled back. Rejects with `COMMIT_OUTCOME_UNKNOWN`
   * if an instance ended at the moment of the decision: after that instance is open again, `resolve` commits or rolls back all
   * branches alike.
   */
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface ResolvedBranch {
  participant: string;
  xid: Xid;
  outcome: 'committed' | 'rolled back';
}

/** A transaction manager for applications that have none. Its decisions are stored in the file of its instance. */
export interface TransactionCoordinator {
  /**
   * Each branch has `timeoutMs` from its start until it is prepared: see `XaStartOptions`. The home instance of a tightly coupled
   * transaction is by default that of its first branch.
   */
  begin(options?: GlobalTransactionOptions): GlobalTransaction;
  /**
   * Ends the branches in doubt of this coordinator's earlier transactions. Call it once all participants are reachable; it
   * repeats itself as long as some do not answer. Branches of other transaction managers are left alone.
   */
  resolve(): Promise<ResolvedBranch[]>;
  /** Stops resolving. Transactions under way end by themselves. */
  close(): void;
}
