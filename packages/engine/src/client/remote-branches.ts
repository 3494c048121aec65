/** Branches of distributed transactions on an instance in another process. */
import { QueueError } from '../api/errors.ts';
import type { XaEnd, XaResource, XaSession, XaStartOptions, XaVote, Xid } from '../api/xa.ts';
import type { SessionGuard } from '../model/session-calls.ts';
import { xaError } from '../model/xa-error.ts';
import { requests } from '../wire/protocol.ts';
import { type ResourceCall, xaCallToJson, xidFromWire } from '../wire/xa-calls.ts';
import type { ClientLink } from './client-link.ts';

/** The instance as a resource manager: one round trip a call. */
export class RemoteResource implements XaResource {
  readonly #link: ClientLink;

  constructor(link: ClientLink) {
    this.#link = link;
  }

  prepare(xid: Xid): Promise<XaVote> {
    return this.#request({ call: 'prepare', xid });
  }

  async commit(xid: Xid, { onePhase = false }: { onePhase?: boolean } = {}): Promise<void> {
    await this.#request({ call: 'commit', xid, onePhase });
  }

  async rollback(xid: Xid): Promise<void> {
    await this.#request({ call: 'rollback', xid });
  }

  async recover(): Promise<Xid[]> {
    const found = await this.#request<Parameters<typeof xidFromWire>[0][]>({ call: 'recover' });
    return found.map(xidFromWire);
  }

  async forget(xid: Xid): Promise<void> {
    await this.#request({ call: 'forget', xid });
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
  /** Sends a call, with what is staged where that is to go along. */
  send(json: string, options: { withStaged: boolean }): Promise<void>;
  /** What is dequeued from now on is lost with the connection. */
  onStarted(): void;
  /** The session has no work any more. */
  onEnded(): void;
}

export class RemoteBranches implements XaSession {
  readonly #resource: XaResource;
  readonly #host: RemoteBranchHost;
  #isActive = false;

  constructor(link: ClientLink, host: RemoteBranchHost) {
    this.#resource = new RemoteResource(link);
    this.#host = host;
  }

  /** The work of the session belongs to a branch. */
  get isActive(): boolean {
    return this.#isActive;
  }

  async start(xid: Xid, options: XaStartOptions = {}): Promise<void> {
    const { guard, hasWork } = this.#host;
    guard.assertFree();
    if (this.#isActive)
      throw new QueueError('XAER_PROTO', { message: 'The session works in a branch already' });
    if (hasWork) throw new QueueError('XAER_OUTSIDE');
    this.#host.beforeStart();
    await this.#send(xaCallToJson({ call: 'start', xid, options }), { withStaged: false });
    this.#isActive = true;
    this.#host.onStarted();
  }

  async end(xid: Xid, how: XaEnd = 'success'): Promise<void> {
    this.#host.guard.assertFree();
    const wasActive = this.#isActive;
    try {
      await this.#send(xaCallToJson({ call: 'end', xid, how }), { withStaged: wasActive && how !== 'fail' });
    } catch (error) {
      // Of another branch than the one that it works in: nothing has changed.
      if (error instanceof QueueError && error.code === 'XAER_PROTO') throw error;
      this.#leave();
      throw error;
    }
    if (wasActive) this.#leave();
  }

  #leave(): void {
    this.#isActive = false;
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

  prepare(xid: Xid): Promise<XaVote> {
    return this.#whenFree(() => this.#resource.prepare(xid));
  }

  commit(xid: Xid, options?: { onePhase?: boolean }): Promise<void> {
    return this.#whenFree(() => this.#resource.commit(xid, options));
  }

  rollback(xid: Xid): Promise<void> {
    return this.#whenFree(() => this.#resource.rollback(xid));
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
