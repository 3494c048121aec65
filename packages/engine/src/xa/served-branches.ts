/** The branches of an instance as long as it serves; then `XAER_RMFAIL` answers everything. */
import type { XaResource, XaVote, Xid } from '../api/xa.ts';
import { xaError } from '../model/xa-error.ts';
import type { Branches } from './branches.ts';

export class ServedBranches implements XaResource {
  readonly #find: () => Branches;

  /** `find` throws why the instance serves no more. */
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

  async prepare(xid: Xid): Promise<XaVote> {
    return this.current.prepare(xid);
  }

  async commit(xid: Xid, options?: { onePhase?: boolean }): Promise<void> {
    return this.current.commit(xid, options);
  }

  async rollback(xid: Xid): Promise<void> {
    return this.current.rollback(xid);
  }

  async recover(): Promise<Xid[]> {
    return this.current.recover();
  }

  async forget(xid: Xid): Promise<void> {
    return this.current.forget(xid);
  }
}
