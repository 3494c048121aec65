/** A session of the client: each call is delayed by the emulated round trip, counted, timed, and traced. */
import type { SessionWaits } from '@shardlab/contract';
import type {
  Message,
  Session,
  SessionTime,
  WaitEvent,
  XaSession,
  XaStartOptions,
  Xid,
} from '@shardlab/engine';
import { otherBranch } from '../../meters/load-waits.ts';
import type { RoundTrips } from '../../trial/round-trips.ts';
import { passesCallsOn } from './folders.ts';
import type { XaInstances } from './instances.ts';
import { type InsertedRow, insertRow } from './rows.ts';
import { SessionTrace } from './trace.ts';
import type { XaParams } from './xa-params.ts';

export interface XaClientOptions {
  /** Index among the sessions, from 0. */
  number: number;
  instances: XaInstances;
  roundTrips: RoundTrips | null;
  params: XaParams;
  isEmulated(event: string): boolean;
}

export const queueOf = (session: number) => `queue-${session}`;

export class XaClientSession {
  readonly number: number;
  /** Number of its instance, from 1. */
  readonly instance: number;
  readonly trace: SessionTrace;
  readonly #options: XaClientOptions;
  /** By instance: its own, and the others where it prepares branches itself because its own instance cannot pass the calls on. */
  readonly #sessions = new Map<number, Session>();
  /** The one of them that it made its last call with. */
  #used: Session | undefined;
  #roundTripsBefore: number | null = null;
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
    return session;
  }

  /** Returns the session at an instance for the next call. The session that was used before is marked as waiting. */
  #use(instance: number): Session {
    const { instances } = this.#options;
    const session = this.#sessionAt(instance);
    if (session === this.#used) return session;
    if (this.#used !== undefined) {
      this.resume(); // what it was in ends here
      this.awaitOther();
    }
    const time = instances.timeOf(session);
    time.resume(); // its state while another session was used must not count as a wait
    this.trace.follow(time);
    this.#used = session;
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
    const session = this.#use(instance);
    const time: SessionTime = instances.timeOf(session);
    const event: WaitEvent | undefined = instances.eventOfCalls;
    if (roundTrips !== null) await roundTrips.wait(time);
    time.resume(); // since it was last marked, other sessions of the thread have run
    this.calls += 1;
    const fromMs = performance.now();
    const made = make(session);
    // A call that only stages returns at once and has no wait.
    const result = await (made instanceof Promise ? time.suspend(made, event) : time.yield(made));
    this.trace.onCall(name, fromMs, performance.now());
    return result;
  }

  /**
   * Marks the program as on CPU until its next call. Call it where the program continues, not where a call ends: other sessions
   * may run in between, and that time would be booked to this one.
   */
  resume(): void {
    this.#options.instances.timeOf(this.#used!).resume();
  }

  /** Marks the session as runnable: its program lets others run before its next call. */
  yield(): void {
    this.#options.instances.timeOf(this.#used!).yield(undefined);
  }

  #xa<T>(name: string, instance: number, make: (xa: XaSession) => Promise<T>): Promise<T> {
    return this.#call(name, instance, (session) => make(session.xa!));
  }

  /** Before its first call of the measured run. */
  begin(): void {
    this.#roundTripsBefore = this.roundTrips;
    this.trace.begin(performance.now());
    this.#use(this.instance);
    this.yield();
  }

  /** Marks the session as waiting for the other branch after its last transaction. */
  finish(): void {
    this.resume(); // what it was in ends here
    this.trace.end(performance.now());
    this.awaitOther();
  }

  /** Between `begin` and `finish`. */
  waits(): SessionWaits {
    const { roundTrips } = this;
    return {
      ...this.trace.table(),
      calls: this.calls,
      ...(roundTrips === null ? {} : { roundTrips: roundTrips - this.#roundTripsBefore! }),
    };
  }

  start = (xid: Xid, options: XaStartOptions) =>
    this.#xa('xa_start', this.instance, (xa) => xa.start(xid, options));

  /** In a branch (`xid`) the staged operation is sent at once, like a statement of a database. */
  enqueue(payload: Buffer, xid?: Xid): Promise<void> {
    return this.#call('enqueue', this.instance, (session) => {
      session.enqueue(queueOf(this.number), { payload });
      return xid === undefined ? undefined : session.xa!.flush(xid);
    });
  }

  /** Inserts the row, and enqueues its payload, in one call. */
  insert(row: InsertedRow, xid?: Xid): Promise<void> {
    return this.#call('insert, enqueue', this.instance, (session) => {
      insertRow(session, row);
      session.enqueue(queueOf(this.number), { payload: row.payload });
      return xid === undefined ? undefined : session.xa!.flush(xid);
    });
  }

  dequeue(): Promise<Message[]> {
    return this.#call('dequeue', this.instance, (session) =>
      session.dequeue(queueOf(this.number), { waitMs: 0 }),
    );
  }

  end = (xid: Xid) => this.#xa('xa_end', this.instance, (xa) => xa.end(xid));
  prepare = (xid: Xid, instance: number) =>
    this.#xa('xa_prepare', this.#calledFor(instance), (xa) => xa.prepare(xid, { instance }));
  commitBranch = (xid: Xid, instance: number, options: { onePhase?: boolean } = {}) =>
    this.#xa('xa_commit', this.#calledFor(instance), (xa) => xa.commit(xid, { ...options, instance }));

  /** The instance that it makes a call to about a branch of `instance`: its own, if that can pass the call on. */
  #calledFor(instance: number): number {
    return passesCallsOn(this.#options.params) ? this.instance : instance;
  }

  commit = () =>
    this.#call('commit', this.instance, async (session) => {
      await session.commit();
    });

  /** It has nothing to do until the other branch, or, at the end, the other sessions are as far. */
  awaitOther(): void {
    this.#options.instances.timeOf(this.#used!).begin(otherBranch);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.close();
  }
}
