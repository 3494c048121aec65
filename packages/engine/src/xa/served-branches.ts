/** The branches of an instance while it serves. Afterwards every call fails with `XAER_RMFAIL`. */
import type { XaBranchPlace, XaCommitOptions, XaResource, XaVote, Xid } from '../api/xa.ts';
import type { PassedOnAnswer, PassedOnCall } from '../model/passed-on-call.ts';
import { xaError } from '../model/xa-error.ts';
import type { Branches } from './branches.ts';

export class ServedBranches implements XaResource {
  readonly #find: () => Branches;

  /** `find` throws why the instance no longer serves. */
  constructor(find: () => Branches) {
    this.#find = find;
  }

  /** Throws `XAER_RMFAIL`. */
  get current(): Branches {
    try {
      return this.#find();
    } catch (error) {
      throw xaError(error, 'XAER_RMERR');
    }
  }

  async prepare(xid: Xid, place?: XaBranchPlace): Promise<XaVote> {
    return this.current.prepare(xid, place);
  }

  async commit(xid: Xid, options?: XaCommitOptions): Promise<void> {
    return this.current.commit(xid, options);
  }

  async rollback(xid: Xid, place?: XaBranchPlace): Promise<void> {
    return this.current.rollback(xid, place);
  }

  /** Answers a call that another instance has passed on. */
  async answer(call: PassedOnCall): Promise<PassedOnAnswer> {
    return this.current.answer(call);
  }

  async recover(): Promise<Xid[]> {
    return this.current.recover();
  }

  async forget(xid: Xid): Promise<void> {
    return this.current.forget(xid);
  }
}
