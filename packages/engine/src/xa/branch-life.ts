/**
 * The life of a branch of a distributed transaction at its resource manager: the branch states of the XA specification, with the
 * times in which a write is under way as states of their own, since calls come from several sessions.
 *
 *     nonexistent          unknown, or forgotten: committed, rolled back or read-only
 *     active               a session works in it
 *     suspended            that session has suspended it and may resume it
 *     ended                no session works in it
 *     preparing            its row is being written
 *     prepared             in doubt: on disk, held over restarts
 *     committingOnePhase   it commits as a local transaction does
 *     committing           a prepared branch is being committed
 *     rollingBack          a prepared branch is being rolled back
 *     activeRollbackOnly   its time is over while a session works in it
 *     rollbackOnly         its work is undone; the transaction manager does not know yet
 */
import { TransitionTable } from '../model/transition-table.ts';

export type BranchState =
  | 'nonexistent'
  | 'active'
  | 'suspended'
  | 'ended'
  | 'preparing'
  | 'prepared'
  | 'committingOnePhase'
  | 'committing'
  | 'rollingBack'
  | 'activeRollbackOnly'
  | 'rollbackOnly';

/** The states as they stand in an error message, after "its state is". */
export const branchStateNames: Readonly<Record<BranchState, string>> = {
  nonexistent: 'unknown',
  active: 'active',
  suspended: 'suspended',
  ended: 'ended',
  preparing: 'preparing',
  prepared: 'prepared',
  committingOnePhase: 'committing in one phase',
  committing: 'committing',
  rollingBack: 'rolling back',
  activeRollbackOnly: 'active, rollback only',
  rollbackOnly: 'rollback only',
};

export type BranchCommand =
  | 'start'
  | 'join'
  | 'resume'
  | 'suspend'
  | 'end'
  /** `end` with failure. */
  | 'fail'
  | 'prepare'
  | 'commitOnePhase'
  | 'commit'
  | 'rollback'
  /** Its time is over. */
  | 'expire'
  /** The instance was opened and found it in its file. */
  | 'recover'
  /** The write that prepares it is durable. */
  | 'becomePrepared'
  /** It ended without a trace: committed, rolled back, read-only, or refused. */
  | 'finish'
  /** The write that was to end a prepared branch failed, and the file is unchanged. */
  | 'retry';

export const branchLife = new TransitionTable<BranchState, BranchCommand>('a branch', {
  nonexistent: { start: 'active', recover: 'prepared' },
  active: {
    suspend: 'suspended',
    end: 'ended',
    fail: 'rollbackOnly',
    expire: 'activeRollbackOnly',
    finish: 'nonexistent',
  },
  suspended: {
    resume: 'active',
    end: 'ended',
    fail: 'rollbackOnly',
    expire: 'rollbackOnly',
    finish: 'nonexistent',
  },
  ended: {
    join: 'active',
    prepare: 'preparing',
    commitOnePhase: 'committingOnePhase',
    rollback: 'nonexistent',
    expire: 'rollbackOnly',
    finish: 'nonexistent',
  },
  preparing: { becomePrepared: 'prepared', finish: 'nonexistent' },
  prepared: { commit: 'committing', rollback: 'rollingBack' },
  committingOnePhase: { finish: 'nonexistent' },
  committing: { finish: 'nonexistent', retry: 'prepared' },
  rollingBack: { finish: 'nonexistent', retry: 'prepared' },
  activeRollbackOnly: {
    suspend: 'rollbackOnly',
    end: 'rollbackOnly',
    fail: 'rollbackOnly',
    finish: 'nonexistent',
  },
  rollbackOnly: { rollback: 'nonexistent', finish: 'nonexistent' },
});
