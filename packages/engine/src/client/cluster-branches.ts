/**
 * Branches of distributed transactions of a session over a whole cluster. A branch is on one instance: its home instance, if it is
 * tightly coupled and names one, else the instance that the session enqueues to. Calls about a branch that the session has not
 * started ask the members in turn.
 */

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
import { assertFields } from '../model/call-arguments.ts';
import { xaCommitFields, xaPlaceFields } from '../model/call-fields.ts';
import type { InstanceId } from '../model/ids.ts';
import type { SessionGuard } from '../model/session-calls.ts';
import { validateEnd, validateStart, validateXid, xidKey } from '../model/xid.ts';

/** The branches of the session on one instance. */
export type BranchesOfInstance = XaSession & { readonly isActive: boolean };

/** The session itself. */
export interface ClusterBranchHost {
  readonly guard: SessionGuard;
  readonly hasWork: boolean;
  /** Chooses the instance for a branch that may be on any. Throws `INSTANCE_UNREACHABLE`. */
  chooseInstance(): InstanceId;
  /** Members of the cluster, served at the moment or not. */
  memberInstances(): InstanceId[];
  branchesOn(instance: InstanceId): BranchesOfInstance;
  /** The session's work is on this instance until `onEnded`. */
  onStarted(instance: InstanceId): void;
  onEnded(): void;
}

export class ClusterBranches implements XaSession {
  readonly #host: ClusterBranchHost;
  /** Instances of the branches that the session has started and that may not have ended, by xid. */
  readonly #instances = new Map<string, InstanceId>();
  /** Instance of the branch that the session works in. */
  #active: InstanceId | undefined;

  constructor(host: ClusterBranchHost) {
    this.#host = host;
  }

  /** The work of the session belongs to a branch. */
  get isActive(): boolean {
    return this.#active !== undefined;
  }

  get home(): InstanceId | undefined {
    return this.#active === undefined ? undefined : this.#host.branchesOn(this.#active).home;
  }

  start(xid: Xid, options: XaStartOptions = {}): Promise<void> {
    return this.#call(async () => {
      validateStart(options);
      if (this.isActive)
        throw new QueueError('XAER_PROTO', { message: 'The session works in a branch already' });
      if (this.#host.hasWork) throw new QueueError('XAER_OUTSIDE');
      const start = async (branches: XaSession, instance: InstanceId) => {
        await branches.start(xid, options);
        this.#instances.set(xidKey(validateXid(xid)), instance);
        this.#active = instance;
        this.#host.onStarted(instance);
      };
      if (options.flag !== undefined) await this.#atBranch(xid, start);
      else await this.#at(options.home ?? this.#host.chooseInstance(), start);
    });
  }

  end(xid: Xid, how?: XaEnd): Promise<void> {
    return this.#call(async () => {
      if (how !== undefined) validateEnd(how);
      try {
        await this.#atBranch(xid, (branches) => branches.end(xid, how));
      } finally {
        this.#leaveIfEnded();
      }
    });
  }

  flush(xid: Xid): Promise<void> {
    return this.#call(async () => {
      try {
        await this.#atBranch(xid, (branches) => branches.flush(xid));
      } finally {
        this.#leaveIfEnded();
      }
    });
  }

  /** The branch that was ended may be a suspended one, not the one that the session works in. */
  #leaveIfEnded(): void {
    if (this.#active !== undefined && !this.#host.branchesOn(this.#active).isActive) this.#leave();
  }

  #leave(): void {
    this.#active = undefined;
    this.#host.onEnded();
  }

  async prepare(xid: Xid, place: XaBranchPlace = {}): Promise<XaVote> {
    assertFields(place, xaPlaceFields);
    const vote = await this.#call(() => this.#atBranch(xid, (branches) => branches.prepare(xid), place));
    if (vote === 'read-only') this.#forgetInstance(xid);
    return vote;
  }

  async commit(xid: Xid, given: XaCommitOptions = {}): Promise<void> {
    assertFields(given, xaCommitFields);
    const { instance, ...options } = given;
    const place = instance === undefined ? {} : { instance };
    await this.#call(() => this.#atBranch(xid, (branches) => branches.commit(xid, options), place));
    this.#forgetInstance(xid);
  }

  async rollback(xid: Xid, place: XaBranchPlace = {}): Promise<void> {
    assertFields(place, xaPlaceFields);
    await this.#call(() => this.#atBranch(xid, (branches) => branches.rollback(xid), place));
    this.#forgetInstance(xid);
  }

  /** Rejects with `XAER_RMFAIL` if a member does not answer: without its branches the list would be incomplete. */
  recover(): Promise<Xid[]> {
    return this.#call(async () => {
      const lists: Xid[][] = [];
      for (const instance of this.#host.memberInstances())
        lists.push(await this.#at(instance, (branches) => branches.recover()));
      return lists.flat();
    });
  }

  forget(xid: Xid): Promise<void> {
    return this.#call(() => this.#atBranch(xid, (branches) => branches.forget(xid)));
  }

  #forgetInstance(xid: Xid): void {
    this.#instances.delete(xidKey(validateXid(xid)));
  }

  /**
   * Calls the instance that has the branch, so that no instance has to pass the call on. Rejects with `XAER_NOTA` only if every
   * member does: to a commit that code means that the branch is already committed.
   */
  async #atBranch<T>(
    xid: Xid,
    call: (branches: BranchesOfInstance, instance: InstanceId) => Promise<T>,
    { instance: named }: XaBranchPlace = {},
  ): Promise<T> {
    const key = xidKey(validateXid(xid));
    const known = named ?? this.#instances.get(key);
    let failure: unknown;
    for (const instance of known === undefined ? this.#host.memberInstances() : [known]) {
      try {
        return await this.#at(instance, call);
      } catch (error) {
        const code = error instanceof QueueError ? error.code : undefined;
        if (code === 'XAER_NOTA') this.#instances.delete(key);
        if (code !== 'XAER_NOTA' && (code !== 'XAER_RMFAIL' || known !== undefined)) throw error;
        if (failure === undefined || code === 'XAER_RMFAIL') failure = error;
      }
    }
    throw failure ?? new QueueError('XAER_NOTA');
  }

  #at<T>(
    instance: InstanceId,
    call: (branches: BranchesOfInstance, instance: InstanceId) => Promise<T>,
  ): Promise<T> {
    return call(this.#host.branchesOn(instance), instance);
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    this.#host.guard.assertFree();
    return await this.#host.guard.run(call());
  }
}
