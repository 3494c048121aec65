/**
 * Clients of a cluster's instances in the process of the test. By default two sessions enqueue to each instance and one dequeues,
 * through any faults of the process that serves it. The outcome of each commit is known, so at the end the enqueued messages must be
 * exactly the consumed and the remaining ones.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { connect, QueueError, type RemoteInstance, type Session } from '../../src/index.ts';

const operations = 7;
const backlogMax = 300;
/** Pause of a session after each transaction, which leaves CPU for recovering processes. */
const pauseMs = 8;

/** A call that fails with one of these codes changed nothing and is repeated. */
const retryableCodes = ['TX_NOT_COMMITTED', 'INSTANCE_UNREACHABLE', 'INSTANCE_CLOSED', 'LEASE_LAPSED'];

export class RemoteLoad {
  readonly enqueued = new Set<string>();
  /** Consumed payloads by instance, in the order of the commits. */
  readonly consumed = new Map<number, string[]>();
  readonly faults: unknown[] = [];
  /** Instances that refused messages because they are leaving. */
  readonly leaving = new Set<number>();
  readonly #dir: string;
  readonly #forwards: boolean;
  readonly #remotes: RemoteInstance[] = [];
  readonly #working: Promise<void>[] = [];
  readonly #backlog = new Map<number, number>();
  readonly #lastCommitMs = new Map<number, number>();
  readonly #gapMs = new Map<number, number>();
  /** Instances from which no messages are dequeued. */
  readonly unread = new Set<number>();
  #names = 0;
  #draining = false;
  #ending = false;

  /** With `forwards` messages are consumed on other instances than they are enqueued on, so the backlog is bounded over all instances. */
  constructor(dir: string, { forwards = false } = {}) {
    this.#dir = dir;
    this.#forwards = forwards;
  }

  async connect(instance: number, { enqueuers = 2, dequeuers = 1 } = {}): Promise<void> {
    const remote = await connect({ dir: this.#dir, instance, connectMs: 20_000 });
    this.#remotes.push(remote);
    if (!this.consumed.has(instance)) this.consumed.set(instance, []);
    this.#lastCommitMs.set(instance, performance.now());
    for (let i = 0; i < enqueuers; i += 1) {
      this.#names += 1;
      this.#working.push(this.#enqueue(remote, `${instance}-${this.#names}`));
    }
    for (let i = 0; i < dequeuers; i += 1) this.#working.push(this.#dequeue(remote));
  }

  /** The longest time without a commit on the instance since the last call. */
  takeGapMs(instance: number): number {
    const gapMs = Math.round(this.#gapMs.get(instance) ?? 0);
    this.#gapMs.set(instance, 0);
    return gapMs;
  }

  /** Resolves when this many more messages were consumed on the instance. */
  async progress(instance: number, messages = 50): Promise<void> {
    const consumed = this.consumed.get(instance)!;
    const until = consumed.length + messages;
    while (consumed.length < until) {
      if (this.faults.length > 0) throw this.faults[0];
      await pause(pauseMs);
    }
  }

  #committed(instance: number, messages: number): void {
    const now = performance.now();
    const gapMs = now - this.#lastCommitMs.get(instance)!;
    this.#gapMs.set(instance, Math.max(gapMs, this.#gapMs.get(instance) ?? 0));
    this.#lastCommitMs.set(instance, now);
    this.#backlog.set(this.#scope(instance), this.#backlogOf(instance) + messages);
  }

  #scope(instance: number): number {
    return this.#forwards ? 0 : instance;
  }

  #backlogOf(instance: number): number {
    return this.#backlog.get(this.#scope(instance)) ?? 0;
  }

  #enqueue(remote: RemoteInstance, name: string): Promise<void> {
    let next = 0;
    return this.#repeat(remote, async (session) => {
      if (this.#draining || this.#backlogOf(remote.id) > backlogMax) return;
      const payloads = Array.from({ length: operations }, (_, index) => `${name}.${next + index}`);
      next += operations;
      for (const payload of payloads) session.enqueue('q', { payload });
      await session.commit();
      for (const payload of payloads) this.enqueued.add(payload);
      this.#committed(remote.id, operations);
    });
  }

  #dequeue(remote: RemoteInstance): Promise<void> {
    let turn = 0;
    return this.#repeat(remote, async (session) => {
      if (this.unread.has(remote.id)) return;
      turn += 1;
      const messages = await session.dequeue('q', { max: operations, waitMs: 50 });
      if (turn % 5 === 0) return session.rollback();
      await session.commit();
      this.consumed.get(remote.id)!.push(...messages.map((message) => message.payload.toString()));
      if (messages.length > 0) this.#committed(remote.id, -messages.length);
    });
  }

  async #repeat(remote: RemoteInstance, work: (session: Session) => Promise<void>): Promise<void> {
    const session = remote.openSession();
    while (!this.#ending) {
      try {
        await work(session);
      } catch (error) {
        if (error instanceof QueueError && error.code === 'INSTANCE_LEAVING') {
          this.leaving.add(remote.id);
          return;
        }
        if (!(error instanceof QueueError) || !retryableCodes.includes(error.code)) {
          this.faults.push(error);
          return;
        }
        await session.rollback();
      }
      await pause(pauseMs);
    }
  }

  /** Stops enqueuing; resolves when all enqueued messages are consumed. */
  async drain(): Promise<void> {
    this.#draining = true;
    const isDrained = () => [...this.consumed.values()].flat().length === this.enqueued.size;
    // A commit under way may still add messages.
    for (let quiet = 0; quiet < 20; quiet = isDrained() ? quiet + 1 : 0) {
      if (this.faults.length > 0) throw this.faults[0];
      await pause(pauseMs);
    }
  }

  /** Ends the clients. `expectSound` can then compare what they know with what is left. */
  async end(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#working);
    await Promise.all(this.#remotes.map((remote) => remote.close()));
    expect(this.faults).toEqual([]);
  }

  expectSound(left: readonly string[]): void {
    const delivered = [...this.consumed.values()].flat();
    expect(delivered.length).toBeGreaterThan(0);
    const all = [...delivered, ...left];
    expect(new Set(all).size, 'there twice').toBe(all.length);
    const known = new Set(all);
    expect(
      [...this.enqueued].filter((payload) => !known.has(payload)),
      'lost',
    ).toEqual([]);
    expect(
      all.filter((payload) => !this.enqueued.has(payload)),
      'never committed',
    ).toEqual([]);
    for (const [enqueuer, own] of Map.groupBy(all, (payload) => payload.split('.')[0]!)) {
      const numbers = own.map((payload) => Number(payload.split('.')[1]));
      expect(numbers, `order of ${enqueuer}`).toEqual([...numbers].sort((a, b) => a - b));
    }
  }
}
