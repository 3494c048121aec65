/** The life of a branch: for each state and call the next state, or the code with which the call is refused. */
import { describe, expect, it } from 'vitest';
import { QueueError } from '../../src/api/errors.ts';
import { Branch } from '../../src/xa/branch.ts';
import { type BranchCommand, type BranchState, branchLife } from '../../src/xa/branch-life.ts';

const xid = { formatId: 1, gtrid: Buffer.from('transfer 1'), bqual: Buffer.from('a') };

/** Commands that bring a branch into each state. */
const waysTo: Record<BranchState, BranchCommand[]> = {
  nonexistent: [],
  active: ['start'],
  suspended: ['start', 'suspend'],
  ended: ['start', 'end'],
  preparing: ['start', 'end', 'prepare'],
  prepared: ['recover'],
  committingOnePhase: ['start', 'end', 'commitOnePhase'],
  committing: ['recover', 'commit'],
  rollingBack: ['recover', 'rollback'],
  activeRollbackOnly: ['start', 'expire'],
  rollbackOnly: ['start', 'fail'],
};

function branchIn(state: BranchState): Branch {
  const branch = new Branch(xid);
  for (const command of waysTo[state]) branch.apply(command);
  expect(branch.state).toBe(state);
  return branch;
}

const pairs = branchLife.states.flatMap((state) =>
  branchLife.commands.map((command) => [state, command] as const),
);

describe('a branch', () => {
  it.each(pairs)('that is %s answers "%s" as the table says', (state, command) => {
    const branch = branchIn(state);
    const next = branchLife.find(state, command);
    if (next !== undefined) {
      branch.apply(command);
      expect(branch.state).toBe(next);
      return;
    }
    expect(() => branch.apply(command)).toThrow(
      expect.objectContaining({ code: 'XAER_PROTO', details: { state, call: command } }),
    );
    expect(branch.state).toBe(state);
  });

  it('that can only be rolled back reports why to every other call', () => {
    const branch = branchIn('rollbackOnly');
    branch.rollbackCode = 'XA_RBTIMEOUT';
    for (const command of ['prepare', 'commit', 'commitOnePhase', 'join', 'resume', 'end'] as const)
      expect(() => branch.apply(command)).toThrow(expect.objectContaining({ code: 'XA_RBTIMEOUT' }));
    branch.apply('rollback');
    expect(branch.state).toBe('nonexistent');
  });

  it('is in doubt only between its prepare and its end, when only the transaction manager can end it', () => {
    const leaving = branchLife.commands.filter(
      (command) => branchLife.find('prepared', command) !== undefined,
    );
    expect(leaving.sort()).toEqual(['commit', 'rollback']);
    expect(new QueueError('XA_RBTIMEOUT').kind).toBe('conflict');
  });
});
