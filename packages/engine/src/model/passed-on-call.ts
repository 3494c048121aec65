/** A call about a branch that the called instance passes on to the instance that has it. */
import type { XaVote, Xid } from '../api/xa.ts';

export interface PassedOnCall {
  call: 'prepare' | 'commit' | 'rollback';
  xid: Xid;
  /** Only for a commit. */
  onePhase: boolean;
  /** Whether it may wait for the lock of the transaction: its session keeps no lock that would close a cycle (`HomeCall`). */
  mayWait: boolean;
}

/** The vote of a prepare, else null. */
export type PassedOnAnswer = XaVote | null;
