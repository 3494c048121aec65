/** The branches that one session works in: at most one at a time, others suspended. */
import { QueueError } from '../api/errors.ts';
import type { XaEnd, XaSession, XaStartOptions, XaVote, Xid } from '../api/xa.ts';
import type { SessionGuard } from '../model/session-calls.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import { validateXid, xidKey } from '../model/xid.ts';
import type { Branch, BranchWork } from './branch.ts';
import type { Branches } from './branches.ts';
import type { ServedBranches } from './served-branches.ts';

/** The session itself. */
export interface BranchHost {
  readonly sessionNumber: number;
  readonly time: RecordedTime;
  readonly guard: SessionGuard;
  readonly branches: ServedBranches;
  readonly hasWork: boolean;
  /** The session goes on with this work. */
  attach(work: BranchWork): void;
  /** The session has no work any more. */
  detach(): BranchWork;
}

export class SessionBranches implements XaSession {
  readonly #host: BranchHost;
  #active: Branch | undefined;
  readonly #suspended = new Set<Branch>();
  /** Of the instance, once it was asked for: closing needs it when nothing is served any more. */
  #known: Branches | undefined;

  constructor(host: BranchHost) {
    this.#host = host;
  }

  /** The work of the session belongs to a branch. */
  get isActive(): boolean {
    return this.#active !== undefined;
  }

  /** Whether its work belongs to this branch. Throws `XAER_INVAL`. */
  worksIn(xid: Xid): boolean {
    return this.#active?.key === xidKey(validateXid(xid));
  }

  async start(xid: Xid, { flag, timeoutMs }: XaStartOptions = {}): Promise<void> {
    const branches = this.#branches();
    if (this.#active !== undefined)
      throw new QueueError('XAER_PROTO', { message: 'The session works in a branch already' });
    if (this.#host.hasWork) throw new QueueError('XAER_OUTSIDE');
    if (flag !== undefined) {
      this.#continue(branches.find(xid), flag);
      return;
    }
    const { sessionNumber, time } = this.#host;
    this.#active = branches.start(xid, timeoutMs);
    this.#host.attach({ transaction: branches.newTransaction(sessionNumber, time), acknowledged: [] });
  }

  #continue(branch: Branch, flag: NonNullable<XaStartOptions['flag']>): void {
    if (flag === 'resume' && branch.state === 'suspended' && !this.#suspended.has(branch))
      throw new QueueError('XAER_PROTO', { message: 'Another session has suspended the branch' });
    branch.apply(flag);
    this.#suspended.delete(branch);
    const work = branch.work!;
    work.transaction.attachTo(this.#host.sessionNumber, this.#host.time);
    branch.work = undefined;
    this.#active = branch;
    this.#host.attach(work);
  }

  async end(xid: Xid, how: XaEnd = 'success'): Promise<void> {
    const branches = this.#branches();
    const branch = branches.find(xid);
    const isSuspendedHere = this.#suspended.has(branch) && how !== 'suspend';
    if (branch !== this.#active && !isSuspendedHere) {
      if (branch.rollbackCode !== undefined) throw new QueueError(branch.rollbackCode);
      throw new QueueError('XAER_PROTO', { message: 'The session does not work in this branch' });
    }
    const expired = branch.state === 'activeRollbackOnly';
    branch.apply(how === 'success' ? 'end' : how);
    this.#suspended.delete(branch);
    const work = branch === this.#active ? this.#detach() : branch.work!;
    branch.work = work;
    if (expired || how === 'fail') {
      const code = expired ? 'XA_RBTIMEOUT' : 'XA_RBROLLBACK';
      await this.#host.guard.run(branches.undo(branch, work, code));
      if (expired) throw new QueueError(code);
    } else if (how === 'suspend') this.#suspended.add(branch);
  }

  #detach(): BranchWork {
    this.#active = undefined;
    return this.#host.detach();
  }

  async prepare(xid: Xid): Promise<XaVote> {
    const { guard, time } = this.#host;
    return guard.run(
      this.#branches()
        .prepare(xid, time)
        .finally(() => time.end()),
    );
  }

  async commit(xid: Xid, options?: { onePhase?: boolean }): Promise<void> {
    const { guard, time } = this.#host;
    await guard.run(
      this.#branches()
        .commit(xid, options, time)
        .finally(() => time.end()),
    );
  }

  async rollback(xid: Xid): Promise<void> {
    await this.#host.guard.run(this.#branches().rollback(xid));
  }

  async recover(): Promise<Xid[]> {
    return this.#branches().recover();
  }

  async forget(xid: Xid): Promise<void> {
    await this.#branches().forget(xid);
  }

  /** The session closes: rolls back what it works in, and what it has suspended, since nobody else may resume that. */
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
    this.#known = this.#host.branches.current;
    return this.#known;
  }
}
