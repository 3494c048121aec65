/** The branches that one session works in: at most one at a time, others suspended. */

import { QueueError } from '../api/errors.ts';
import type {
  XaBranchPlace,
  XaCommitOptions,
  XaEnd,
  XaSession,
  XaStartOptions,
  XaVote,
  Xid,
} from '../api/xa.ts';
import type { InstanceId, SessionNumber } from '../model/ids.ts';
import type { SessionGuard } from '../model/session-calls.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import { validateEnd, validateStart, validateXid, xidKey } from '../model/xid.ts';
import type { Branch, BranchWork } from './branch.ts';
import type { Branches } from './branches.ts';
import type { ServedBranches } from './served-branches.ts';
import type { LockWaiter, TightBranch } from './tight/tight-branch.ts';

/** The session itself. */
export interface BranchHost {
  readonly sessionNumber: SessionNumber;
  readonly time: RecordedTime;
  readonly guard: SessionGuard;
  readonly branches: ServedBranches;
  readonly hasWork: boolean;
  /** The session continues with this work. */
  attach(work: BranchWork): void;
  /** Detaches the work from the session, which then has none. */
  detach(): BranchWork;
}

export class SessionBranches implements XaSession {
  readonly #host: BranchHost;
  #active: Branch | undefined;
  readonly #suspended = new Set<Branch>();
  /** Branches of the instance, kept from the first call on: closing needs them when the instance has stopped serving. */
  #known: Branches | undefined;

  readonly #waiter: LockWaiter;

  constructor(host: BranchHost) {
    this.#host = host;
    this.#waiter = {
      time: host.time,
      mayWaitFor: (transactionKey) => this.#mayWaitFor(transactionKey),
    };
  }

  get home(): InstanceId | undefined {
    return this.#active?.tight?.home;
  }

  /**
   * A session that keeps locks waits only for those of later transactions, in the order of their keys, so sessions never wait for
   * each other. Otherwise a cycle could span several home instances, and none of them would see it.
   */
  #mayWaitFor(transactionKey: string): boolean {
    for (const branch of this.#active === undefined ? this.#suspended : [...this.#suspended, this.#active])
      if (branch.tight?.keepsLock === true && branch.transactionKey >= transactionKey) return false;
    return true;
  }

  /** The work of the session belongs to a branch. */
  get isActive(): boolean {
    return this.#active !== undefined;
  }

  /** Whether its work belongs to this branch. Throws `XAER_INVAL`. */
  worksIn(xid: Xid): boolean {
    return this.#active?.key === xidKey(validateXid(xid));
  }

  async start(xid: Xid, options: XaStartOptions = {}): Promise<void> {
    validateStart(options);
    const { flag } = options;
    const branches = this.#branches();
    if (this.#active !== undefined)
      throw new QueueError('XAER_PROTO', { message: 'The session works in a branch already' });
    if (this.#host.hasWork) throw new QueueError('XAER_OUTSIDE');
    if (flag !== undefined) {
      await this.#continue(branches.find(xid), flag);
      return;
    }
    const { sessionNumber: session, time, guard } = this.#host;
    const branch = branches.start(xid, options);
    const work = { session, transaction: branches.newTransaction(session, time), acknowledged: [] };
    if (branch.tight !== undefined) {
      try {
        await guard.run(branch.tight.enter(this.#waiter));
      } catch (error) {
        await branches.discard(branch, work);
        throw error;
      }
    } else time.answer();
    this.#active = branch;
    this.#host.attach(work);
  }

  async #continue(branch: Branch, flag: NonNullable<XaStartOptions['flag']>): Promise<void> {
    if (flag === 'resume' && branch.state === 'suspended' && !this.#suspended.has(branch))
      throw new QueueError('XAER_PROTO', { message: 'Another session has suspended the branch' });
    if (branch.tight !== undefined && branch.can(flag)) await this.#enterAgain(branch, branch.tight);
    branch.apply(flag);
    this.#suspended.delete(branch);
    const { sessionNumber: session, time } = this.#host;
    const work = { ...branch.work!, session };
    work.transaction.attachTo(session, time);
    branch.work = undefined;
    this.#active = branch;
    this.#host.attach(work);
  }

  /** Rejects with `XAER_PROTO` if nothing has changed. After any other error the branch can only be rolled back. */
  async #enterAgain(branch: Branch, tight: TightBranch): Promise<void> {
    const { guard } = this.#host;
    try {
      await guard.run(tight.enter(this.#waiter));
    } catch (error) {
      const isRefused = error instanceof QueueError && error.code === 'XAER_PROTO';
      if (!isRefused && branch.can('expire')) {
        branch.apply('expire');
        this.#suspended.delete(branch);
        await guard.run(this.#known!.undo(branch, branch.work!, rollbackCodeOf(error)));
      }
      throw error;
    }
  }

  /** Rolls the branch back because a call in it has failed. */
  async #rollBackWorkOf(branch: Branch, work: BranchWork, error: unknown): Promise<void> {
    const branches = this.#known!;
    branch.apply('fail');
    this.#suspended.delete(branch);
    await this.#host.guard.run(branches.undo(branch, work, rollbackCodeOf(error)));
  }

  /**
   * Runs a call of the session that works in a branch: under the lock of its transaction, if it is tightly coupled. Rejects with
   * `XA_RB…` if the lock was not granted; the branch can then only be rolled back.
   */
  async underLock<T>(call: () => Promise<T>): Promise<T> {
    const branch = this.#active;
    if (branch?.tight === undefined) return call();
    let isLocked = false;
    try {
      return await branch.tight.run(this.#waiter, () => {
        isLocked = true;
        return call();
      });
    } catch (error) {
      if (!isLocked && branch.can('expire')) {
        branch.apply('expire');
        branch.rollbackCode = rollbackCodeOf(error);
      }
      throw error;
    }
  }

  async end(xid: Xid, how: XaEnd = 'success'): Promise<void> {
    validateEnd(how);
    const branches = this.#branches();
    const branch = branches.find(xid);
    const isSuspendedHere = this.#suspended.has(branch) && how !== 'suspend';
    if (branch !== this.#active && !isSuspendedHere) {
      if (branch.rollbackCode !== undefined) throw new QueueError(branch.rollbackCode);
      throw new QueueError('XAER_PROTO', { message: 'The session does not work in this branch' });
    }
    const work = branch === this.#active ? this.#detach() : branch.work!;
    if (branch.tight !== undefined && how === 'success' && branch.rollbackCode === undefined) {
      try {
        await this.#host.guard.run(branch.tight.leave(this.#waiter, work));
      } catch (error) {
        await this.#rollBackWorkOf(branch, work, error);
        throw error;
      }
    } else this.#host.time.answer();
    const expired = branch.state === 'activeRollbackOnly';
    branch.apply(how === 'success' ? 'end' : how);
    this.#suspended.delete(branch);
    branch.work = work;
    if (expired || how === 'fail') {
      const code = expired ? branch.rollbackCode! : 'XA_RBROLLBACK';
      await this.#host.guard.run(branches.undo(branch, work, code));
      if (expired) throw new QueueError(code);
    } else if (how === 'suspend') this.#suspended.add(branch);
  }

  /** Its work is at the instance already. */
  async flush(xid: Xid): Promise<void> {
    const branch = this.#branches().find(xid);
    if (branch !== this.#active)
      throw new QueueError('XAER_PROTO', { message: 'The session does not work in this branch' });
    if (branch.tight === undefined) {
      this.#host.time.answer();
      return;
    }
    try {
      await this.#host.guard.run(this.underLock(async () => undefined));
    } catch (error) {
      await this.#rollBackWorkOf(branch, this.#detach(), error);
      throw error;
    }
  }

  #detach(): BranchWork {
    this.#active = undefined;
    return this.#host.detach();
  }

  async prepare(xid: Xid, place?: XaBranchPlace): Promise<XaVote> {
    const { guard, time } = this.#host;
    const prepared = this.#branches().prepare(xid, place, this.#waiter);
    return guard.run(prepared.finally(() => time.end()));
  }

  async commit(xid: Xid, options?: XaCommitOptions): Promise<void> {
    const { guard, time } = this.#host;
    const committed = this.#branches().commit(xid, options, this.#waiter);
    await guard.run(committed.finally(() => time.end()));
  }

  async rollback(xid: Xid, place?: XaBranchPlace): Promise<void> {
    await this.#host.guard.run(this.#branches().rollback(xid, place, this.#waiter));
  }

  async recover(): Promise<Xid[]> {
    return this.#branches().recover();
  }

  async forget(xid: Xid): Promise<void> {
    await this.#branches().forget(xid);
  }

  /**
   * Called when the session closes: rolls back the branch that it works in, and those that it has suspended, because no other
   * session may resume them.
   */
  async close(): Promise<void> {
    const branches = this.#known;
    if (branches === undefined) return;
    const active = this.#active;
    if (active !== undefined) await branches.discard(active, this.#detach());
    for (const branch of this.#suspended) {
      if (branch.work !== undefined) await branches.discard(branch, branch.work);
    }
    this.#suspended.clear();
  }

  /** Throws `SESSION_BUSY`, `SESSION_CLOSED`, `XAER_RMFAIL`. */
  #branches(): Branches {
    this.#host.guard.assertFree();
    this.#host.guard.countCall();
    this.#known = this.#host.branches.current;
    return this.#known;
  }
}

/** The code with which later calls about the branch reject. */
function rollbackCodeOf(error: unknown): NonNullable<Branch['rollbackCode']> {
  const code = error instanceof QueueError ? error.code : undefined;
  return code === 'XA_RBTIMEOUT' || code === 'XA_RBDEADLOCK' ? code : 'XA_RBCOMMFAIL';
}
