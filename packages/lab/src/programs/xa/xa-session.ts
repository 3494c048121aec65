/** A session of the client: each call is delayed by the emulated round trip, counted, timed, and traced. */
import type {
  Message,
  Session,
  SessionTime,
  WaitEvent,
  XaSession,
  XaStartOptions,
  Xid,
} from '@shardlab/engine';
import { otherBranch } from '../../trial/load-waits.ts';
import type { RoundTrips } from '../../trial/round-trips.ts';
import type { XaInstances } from './instances.ts';
import { type InsertedRow, insertRow } from './rows.ts';
import { SessionTrace } from './trace.ts';
import type { XaParams } from './xa-params.ts';

export interface XaClientOptions {
  /** From 0. */
  number: number;
  instances: XaInstances;
  roundTrips: RoundTrips | null;
  params: XaParams;
  isEmulated(event: string): boolean;
}

export const queueOf = (session: number) => `queue-${session}`;

export class XaClientSession {
  readonly number: number;
  /** Of its instance, from 1. */
  readonly instance: number;
  readonly trace: SessionTrace;
  readonly #options: XaClientOptions;
  /** By the number of the instance: its own, and others' if it prepares branches there. */
  readonly #sessions = new Map<number, Session>();
  calls = 0;

  constructor(options: XaClientOptions) {
    const { number, instances, isEmulated } = options;
    this.#options = options;
    this.number = number;
    this.instance = (number % instances.all.length) + 1;
    this.trace = new SessionTrace(`session ${number + 1} on instance ${this.instance}`, isEmulated);
    this.#sessionAt(this.instance);
  }

  #sessionAt(instance: number): Session {
    const known = this.#sessions.get(instance);
    if (known !== undefined) return known;
    const { instances } = this.#options;
    const session = instances.all[instance - 1]!.openSession();
    this.#sessions.set(instance, session);
    this.trace.follow(instances.timeOf(session));
    return session;
  }

  /** Requests that left the client; null where the engine does not count them. */
  get roundTrips(): number | null {
    let sum = 0;
    for (const session of this.#sessions.values()) {
      if (session.roundTrips === undefined) return null;
      sum += session.roundTrips;
    }
    return sum;
  }

  async #call<T>(name: string, instance: number, make: (session: Session) => T | Promise<T>): Promise<T> {
    const { instances, roundTrips } = this.#options;
    const session = this.#sessionAt(instance);
    const time: SessionTime = instances.timeOf(session);
    const event: WaitEvent | undefined = instances.eventOfCalls;
    if (roundTrips !== null) await roundTrips.wait(time);
    time.resume(); // since it was last marked, other sessions of the thread have run
    this.calls += 1;
    const fromMs = performance.now();
    const result = await time.suspend(make(session), event);
    time.resume();
    this.trace.onCall(name, fromMs, performance.now());
    return result;
  }

  #xa<T>(name: string, instance: number, make: (xa: XaSession) => Promise<T>): Promise<T> {
    return this.#call(name, instance, (session) => make(session.xa!));
  }

  begin(): void {
    this.#options.instances.timeOf(this.#sessionAt(this.instance)).resume();
  }

  start = (xid: Xid, options: XaStartOptions) =>
    this.#xa('xa_start', this.instance, (xa) => xa.start(xid, options));

  /** `xid`: of the branch in which it enqueues; what is staged is sent at once, as a statement would be. */
  enqueue(payload: Buffer, xid?: Xid): Promise<void> {
    return this.#call('enqueue', this.instance, async (session) => {
      session.enqueue(queueOf(this.number), { payload });
      if (xid !== undefined) await session.xa!.flush(xid);
    });
  }

  /** Inserts the row, and enqueues its payload, in one call. */
  insert(row: InsertedRow, xid?: Xid): Promise<void> {
    return this.#call('insert, enqueue', this.instance, async (session) => {
      insertRow(session, row);
      session.enqueue(queueOf(this.number), { payload: row.payload });
      if (xid !== undefined) await session.xa!.flush(xid);
    });
  }

  dequeue(): Promise<Message[]> {
    return this.#call('dequeue', this.instance, (session) =>
      session.dequeue(queueOf(this.number), { waitMs: 0 }),
    );
  }

  end = (xid: Xid) => this.#xa('xa_end', this.instance, (xa) => xa.end(xid));
  prepare = (xid: Xid, instance: number) => this.#xa('xa_prepare', instance, (xa) => xa.prepare(xid));
  commitBranch = (xid: Xid, instance: number, options: { onePhase?: boolean } = {}) =>
    this.#xa('xa_commit', instance, (xa) => xa.commit(xid, options));
  commit = () =>
    this.#call('commit', this.instance, async (session) => {
      await session.commit();
    });

  /** It has nothing to do until the other branch is as far. */
  awaitOther(): void {
    this.#options.instances.timeOf(this.#sessionAt(this.instance)).begin(otherBranch);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.close();
  }
}
