/** Branches of distributed transactions on an instance in another process. */

import { QueueError } from '../api/errors.ts';
import type {
  XaBranchPlace,
  XaCommitOptions,
  XaEnd,
  XaResource,
  XaSession,
  XaStartOptions,
  XaVote,
  Xid,
} from '../api/xa.ts';
import { assertFields } from '../model/call-arguments.ts';
import { xaCommitFields, xaPlaceFields } from '../model/call-fields.ts';
import type { InstanceId } from '../model/ids.ts';
import type { SessionGuard } from '../model/session-calls.ts';
import { xaError } from '../model/xa-error.ts';
import { validateEnd, validateStart, validateXid, xidKey } from '../model/xid.ts';
import { requests } from '../wire/protocol.ts';
import { type ResourceCall, xaCallToJson, xidFromWire } from '../wire/xa-calls.ts';
import type { ClientLink } from './client-link.ts';

/** The connection, or a session that counts what it sends over it. */
type Requester = Pick<ClientLink, 'ensureConnected' | 'request' | 'instance'>;

/** The instance as a resource manager: one round trip a call. */
export class RemoteResource implements XaResource {
  readonly #link: Requester;

  constructor(link: Requester) {
    this.#link = link;
  }

  async prepare(xid: Xid, place: XaBranchPlace = {}): Promise<XaVote> {
    assertFields(place, xaPlaceFields);
    return await this.#request({ call: 'prepare', xid: validateXid(xid), ...place });
  }

  async commit(xid: Xid, options: XaCommitOptions = {}): Promise<void> {
    assertFields(options, xaCommitFields);
    const { onePhase = false, ...place } = options;
    await this.#request({ call: 'commit', xid: validateXid(xid), onePhase, ...place });
  }

  async rollback(xid: Xid, place: XaBranchPlace = {}): Promise<void> {
    assertFields(place, xaPlaceFields);
    await this.#request({ call: 'rollback', xid: validateXid(xid), ...place });
  }

  async recover(): Promise<Xid[]> {
    const found = await this.#request<Parameters<typeof xidFromWire>[0][]>({ call: 'recover' });
    return found.map(xidFromWire);
  }

  async forget(xid: Xid): Promise<void> {
    await this.#request({ call: 'forget', xid: validateXid(xid) });
  }

  /** A call whose answer was lost may have taken effect: `XAER_RMFAIL`. */
  async #request<T>(call: ResourceCall): Promise<T> {
    try {
      await this.#link.ensureConnected();
      return await this.#link.request<T>(requests.resourceCall, (writer) =>
        writer.remainingText(xaCallToJson(call)),
      );
    } catch (error) {
      throw xaError(error, 'XAER_RMERR');
    }
  }
}

/** The session itself. */
export interface RemoteBranchHost {
  readonly guard: SessionGuard;
  readonly hasWork: boolean;
  /** Throws what keeps the session from starting a branch. */
  beforeStart(): void;
  /** Sends a call, together with the staged operations if they belong to it. */
  send(json: string, options: { withStaged: boolean }): Promise<void>;
  /** Messages that are dequeued from now on are lost with the connection. */
  onStarted(): void;
  /** The staged operations have reached the instance. */
  onFlushed(): void;
  /** The session has no work left. */
  onEnded(): void;
}

export class RemoteBranches implements XaSession {
  readonly #resource: XaResource;
  readonly #link: Requester;
  readonly #host: RemoteBranchHost;
  /** Key of the branch that the session works in. */
  #activeKey: string | undefined;
  #home: InstanceId | undefined;

  constructor(link: Requester, host: RemoteBranchHost) {
    this.#resource = new RemoteResource(link);
    this.#link = link;
    this.#host = host;
  }

  get home(): InstanceId | undefined {
    return this.#home;
  }

  /** The work of the session belongs to a branch. */
  get isActive(): boolean {
    return this.#activeKey !== undefined;
  }

  async start(given: Xid, options: XaStartOptions = {}): Promise<void> {
    validateStart(options);
    const xid = validateXid(given);
    const { guard, hasWork } = this.#host;
    guard.assertFree();
    if (this.isActive)
      throw new QueueError('XAER_PROTO', { message: 'The session works in a branch already' });
    if (hasWork) throw new QueueError('XAER_OUTSIDE');
    this.#host.beforeStart();
    await this.#send(xaCallToJson({ call: 'start', xid, options }), { withStaged: false });
    this.#activeKey = xidKey(xid);
    if (options.coupling === 'tight') this.#home = options.home ?? this.#link.instance;
    this.#host.onStarted();
  }

  async end(xid: Xid, how: XaEnd = 'success'): Promise<void> {
    validateEnd(how);
    this.#host.guard.assertFree();
    const isActive = this.#isActiveIn(xid);
    try {
      await this.#send(xaCallToJson({ call: 'end', xid, how }), { withStaged: isActive && how !== 'fail' });
    } finally {
      // Even if the call is refused, the branch has ended at the instance, or no longer exists there.
      if (isActive) this.#leave();
    }
  }

  async flush(xid: Xid): Promise<void> {
    this.#host.guard.assertFree();
    const isActive = this.#isActiveIn(xid);
    try {
      await this.#send(xaCallToJson({ call: 'flush', xid }), { withStaged: isActive });
    } catch (error) {
      if (isActive) this.#leave(); // as after an end
      throw error;
    }
    this.#host.onFlushed();
  }

  /** Whether the session works in this branch, and not in another one or none. Throws `XAER_INVAL`. */
  #isActiveIn(xid: Xid): boolean {
    return this.#activeKey === xidKey(validateXid(xid));
  }

  #leave(): void {
    this.#activeKey = undefined;
    this.#home = undefined;
    this.#host.onEnded();
  }

  async #send(json: string, options: { withStaged: boolean }): Promise<void> {
    try {
      await this.#host.guard.run(this.#host.send(json, options));
    } catch (error) {
      // The connection on which the branch was started is lost, and the instance has rolled it back.
      if (error instanceof QueueError && error.code === 'TX_NOT_COMMITTED')
        throw new QueueError('XA_RBCOMMFAIL', { cause: error });
      if (error instanceof QueueError && error.code === 'INSTANCE_UNREACHABLE')
        throw xaError(error, 'XAER_RMFAIL');
      throw error;
    }
  }

  prepare(xid: Xid, place?: XaBranchPlace): Promise<XaVote> {
    return this.#whenFree(() => this.#resource.prepare(xid, place));
  }

  commit(xid: Xid, options?: XaCommitOptions): Promise<void> {
    return this.#whenFree(() => this.#resource.commit(xid, options));
  }

  rollback(xid: Xid, place?: XaBranchPlace): Promise<void> {
    return this.#whenFree(() => this.#resource.rollback(xid, place));
  }

  recover(): Promise<Xid[]> {
    return this.#whenFree(() => this.#resource.recover());
  }

  forget(xid: Xid): Promise<void> {
    return this.#whenFree(() => this.#resource.forget(xid));
  }

  async #whenFree<T>(call: () => Promise<T>): Promise<T> {
    this.#host.guard.assertFree();
    return await this.#host.guard.run(call());
  }
}
