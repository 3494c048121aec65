/**
 * A session over all instances of a cluster. It enqueues to one instance for as long as that is a member, so that its
 * messages keep their order; it dequeues from any. A transaction runs on one instance: that of its first operation, or the
 * one that had messages for its first dequeue. One with an idempotency key runs where the keys are known, unless its
 * receipts or statements belong to another instance. A receipt names its instance: `<instance>/<receipt>`.
 */

import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message, NewMessage, StreamedMessage } from '../api/message.ts';
import type {
  CommitOptions,
  CommitResult,
  DequeueOptions,
  EnqueueResult,
  ReceiveOptions,
  ReturnOptions,
  Session,
} from '../api/session.ts';
import type { SqlParameters } from '../api/sql.ts';
import { assertFields, assertName } from '../model/call-arguments.ts';
import { dequeueFields, receiveFields, streamedMessageFields } from '../model/call-fields.ts';
import { validateReturn } from '../model/failed-attempts.ts';
import type { InstanceId } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Clock, Ports } from '../model/ports.ts';
import {
  LazyCommitResult,
  refusedInBranch,
  SessionGuard,
  validateCommitOptions,
  validateIdempotencyKey,
} from '../model/session-calls.ts';
import { ClusterBranches } from './cluster-branches.ts';
import { splitReceipts, withInstancePrefix } from './cluster-receipts.ts';
import type { RemoteSession } from './remote-session.ts';

export interface ClusterConnections {
  readonly ports: Ports;
  /** Instances that are served now; each call begins with another one. Throws `INSTANCE_UNREACHABLE` if there is none. */
  servedInstances(): InstanceId[];
  /** Instances that accept messages, whether they are served at the moment or not. */
  activeInstances(): InstanceId[];
  /** All accepting instances, and instances that are leaving the cluster. */
  memberInstances(): InstanceId[];
  openSessionOn(instance: InstanceId): RemoteSession;
  /** The instance that has the application's tables or, while there are none, will get them. */
  sqlInstance(): InstanceId;
  /** The instance that knows the idempotency keys; the same for ever. */
  keyInstance(): Promise<InstanceId>;
}

/** The instance cannot deliver at the moment, but another one may. */
const transientCodes: readonly QueueErrorCode[] = ['INSTANCE_UNREACHABLE', 'INSTANCE_CLOSED', 'LEASE_LAPSED'];

export class ClusterSession implements Session {
  readonly id: string;
  readonly #connections: ClusterConnections;
  readonly #onClosed: (session: ClusterSession) => void;
  readonly #sessions = new Map<InstanceId, RemoteSession>();
  readonly #guard: SessionGuard;
  readonly #clock: Clock;
  #enqueueInstance: InstanceId | undefined;
  /** The instance of the open transaction. */
  #transactionInstance: InstanceId | undefined;
  /** The open transaction can run on no other instance: it has more than staged enqueues. */
  #isBound = false;
  /** The keys that the uploads of the open transaction named; undefined for one without. */
  readonly #uploadKeys = new Set<string | undefined>();
  #branches: ClusterBranches | undefined;

  constructor(connections: ClusterConnections, onClosed: (session: ClusterSession) => void) {
    const { random, clock } = connections.ports;
    this.id = Buffer.from(random.bytes(16)).toString('hex');
    this.#connections = connections;
    this.#clock = clock;
    this.#guard = new SessionGuard(this.id);
    this.#onClosed = onClosed;
  }

  get roundTrips(): number {
    return [...this.#sessions.values()].reduce((sum, { roundTrips }) => sum + roundTrips, 0);
  }

  get xa(): ClusterBranches {
    this.#branches ??= this.#createBranches();
    return this.#branches;
  }

  #createBranches(): ClusterBranches {
    const session = this;
    return new ClusterBranches({
      guard: this.#guard,
      get hasWork() {
        return session.#transactionInstance !== undefined;
      },
      chooseInstance: () => this.#chooseEnqueueInstance(),
      memberInstances: () => this.#connections.memberInstances(),
      branchesOn: (instance) => this.#sessionOn(instance).xa,
      onStarted: (instance) => this.#bindTransaction(instance),
      onEnded: () => void this.#detachTransaction(),
    });
  }

  #assertNotInBranch(call: string): void {
    if (this.#branches?.isActive === true) throw refusedInBranch(call);
  }

  enqueue(queue: string, message: NewMessage): void {
    this.#guard.assertFree();
    const instance = this.#transactionInstance ?? this.#chooseEnqueueInstance();
    this.#sessionOn(instance).enqueue(queue, message);
    this.#transactionInstance = instance;
  }

  async enqueueNow(queue: string, ...messages: NewMessage[]): Promise<EnqueueResult> {
    this.#guard.assertFree();
    const session = this.#sessionOn(this.#chooseEnqueueInstance());
    return await this.#guard.run(session.enqueueNow(queue, ...messages));
  }

  /** Stays with its instance until that leaves the cluster: after a failure, failover makes it available again. */
  #chooseEnqueueInstance(): InstanceId {
    const active = this.#connections.activeInstances();
    if (this.#enqueueInstance === undefined || !active.includes(this.#enqueueInstance)) {
      const served = this.#connections.servedInstances();
      this.#enqueueInstance = served.find((instance) => active.includes(instance)) ?? served[0]!;
    }
    return this.#enqueueInstance;
  }

  #sessionOn(instance: InstanceId): RemoteSession {
    let session = this.#sessions.get(instance);
    if (session === undefined) {
      session = this.#connections.openSessionOn(instance);
      this.#sessions.set(instance, session);
    }
    return session;
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#guard.assertFree();
    assertFields(message, streamedMessageFields);
    return await this.#guard.run(this.#upload(queue, message));
  }

  async #upload(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    const key = message.idempotencyKey;
    if (key !== undefined && !this.#isBound) {
      validateIdempotencyKey(key);
      await this.#moveTransactionToKeys();
    }
    const instance = this.#transactionInstance ?? this.#chooseEnqueueInstance();
    try {
      const uploaded = await this.#sessionOn(instance).enqueueStream(queue, message);
      this.#bindTransaction(instance);
      this.#uploadKeys.add(key);
      return uploaded;
    } catch (error) {
      throw this.#endTransactionIfOver(error);
    }
  }

  /** The open transaction has staged enqueues at most; it continues on the instance that knows the keys. */
  async #moveTransactionToKeys(): Promise<void> {
    const keyInstance = await this.#connections.keyInstance();
    const stagedOn = this.#transactionInstance;
    if (stagedOn !== undefined && stagedOn !== keyInstance)
      this.#sessionOn(keyInstance).takeStagedFrom(this.#sessionOn(stagedOn));
    this.#transactionInstance = keyInstance;
  }

  async messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    this.#guard.assertFree();
    assertName('receipt', receipt);
    const [instance, [instanceReceipt]] = splitReceipts([receipt]);
    return withInstancePrefix(
      instance,
      await this.#guard.run(this.#sessionOn(instance).messageOfReceipt(queue, instanceReceipt!)),
    );
  }

  async dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#guard.assertFree();
    assertFields(options, dequeueFields);
    return await this.#guard.run(this.#dequeueInTransaction(queue, options));
  }

  async #dequeueInTransaction(queue: string, options: DequeueOptions): Promise<Message[]> {
    const { instance, messages } = await this.#dequeueFromAny(
      this.#transactionInstance,
      options,
      (session, step) => session.dequeue(queue, step),
    );
    if (instance !== undefined) this.#bindTransaction(instance);
    return messages;
  }

  async dequeueNow(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#guard.assertFree();
    assertFields(options, dequeueFields);
    const search = this.#dequeueFromAny(undefined, options, (session, step) =>
      session.dequeueNow(queue, step),
    );
    return (await this.#guard.run(search)).messages;
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    this.#guard.assertFree();
    assertFields(options, receiveFields);
    const { sameInstanceAs, ...rest } = options;
    const from = sameInstanceAs === undefined ? undefined : splitReceipts([sameInstanceAs])[0];
    const search = this.#dequeueFromAny(from, rest, (session, step) =>
      session.receive(queue, { ...rest, ...step }),
    );
    return (await this.#guard.run(search)).messages;
  }

  /** Asks the instances in turn for ready messages and waits briefly at the last one, until `waitMs` is over. */
  async #dequeueFromAny(
    from: InstanceId | undefined,
    { waitMs = 0, ...options }: DequeueOptions,
    dequeue: (session: Session, step: DequeueOptions) => Promise<Message[]>,
  ): Promise<{ instance?: InstanceId; messages: Message[] }> {
    const signal = this.#guard.waitSignal(options.signal);
    const untilMs = this.#clock.monotonicMs() + waitMs;
    for (;;) {
      const instances = from === undefined ? this.#connections.servedInstances() : [from];
      let answered = false;
      let failure: unknown;
      for (const instance of instances) {
        const isLast = instance === instances.at(-1);
        const leftMs = isLast ? Math.max(0, Math.ceil(untilMs - this.#clock.monotonicMs())) : 0;
        const step = { ...options, waitMs: Math.min(leftMs, limits.clusterPollMs), signal };
        try {
          const messages = await dequeue(this.#sessionOn(instance), step);
          if (messages.length > 0) {
            return { instance, messages: messages.map((message) => withInstancePrefix(instance, message)) };
          }
          answered = true;
        } catch (error) {
          if (!hasCode(error, transientCodes) || from !== undefined) throw this.#endTransactionIfOver(error);
          failure = error;
        }
      }
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (signal.aborted || leftMs <= 0) {
        if (!answered) throw failure;
        return { messages: [] };
      }
      // No instance waited: all refused at once, and would be asked again and again without a pause.
      if (!answered) {
        await pause(this.#connections.ports.timers, Math.min(leftMs, limits.clusterPollMs), signal);
      }
    }
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#guard.assertFree();
    const [instance, instanceReceipts] = splitReceipts(receipts);
    if (this.#transactionInstance !== undefined && this.#transactionInstance !== instance)
      throw new QueueError('TX_SPANS_INSTANCES');
    this.#sessionOn(instance).acknowledge(queue, instanceReceipts);
    this.#bindTransaction(instance);
  }

  execute(sql: string, parameters?: SqlParameters): void {
    this.#guard.assertFree();
    const sqlInstance = this.#connections.sqlInstance();
    if (this.#transactionInstance !== undefined && this.#transactionInstance !== sqlInstance) {
      throw new QueueError('TX_SPANS_INSTANCES', {
        details: { instances: [this.#transactionInstance, sqlInstance] },
      });
    }
    this.#sessionOn(sqlInstance).execute(sql, parameters);
    this.#bindTransaction(sqlInstance);
  }

  async query(): Promise<never> {
    throw new QueueError('QUERY_UNSUPPORTED');
  }

  async release(queue: string, receipts: string[], options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    const [instance, instanceReceipts] = splitReceipts(receipts);
    await this.#guard.run(this.#sessionOn(instance).release(queue, instanceReceipts, options));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#guard.assertFree();
    const [instance, instanceReceipts] = splitReceipts(receipts);
    await this.#guard.run(this.#sessionOn(instance).extend(queue, instanceReceipts, holdMs));
  }

  async commit(options?: CommitOptions): Promise<CommitResult> {
    this.#guard.assertFree();
    this.#assertNotInBranch('commit');
    const key = validateCommitOptions(options);
    const { instance, isBound, uploadKeys } = this.#detachTransaction();
    if (instance === undefined) return new LazyCommitResult([]);
    if (key !== undefined && uploadKeys.some((named) => named !== key)) {
      await this.#guard.run(this.#sessionOn(instance).rollback());
      throw new QueueError('IDEMPOTENCY_KEY_UNSUPPORTED', {
        message: 'With a client of a cluster, the upload of a streamed payload must name the idempotency key',
      });
    }
    if (key === undefined || isBound) return this.#guard.run(this.#sessionOn(instance).commit(options));
    return this.#guard.run(this.#commitWhereKeysAreKnown(instance, { idempotencyKey: key }));
  }

  async #commitWhereKeysAreKnown(stagedOn: InstanceId, options: CommitOptions): Promise<CommitResult> {
    const staged = this.#sessionOn(stagedOn);
    let session: RemoteSession;
    try {
      session = this.#sessionOn(await this.#connections.keyInstance());
    } catch (error) {
      await staged.rollback();
      throw error;
    }
    if (session !== staged) session.takeStagedFrom(staged);
    return await session.commit(options);
  }

  #bindTransaction(instance: InstanceId): void {
    this.#transactionInstance = instance;
    this.#isBound = true;
  }

  /** The next operation begins a new transaction. */
  #detachTransaction() {
    const detached = {
      instance: this.#transactionInstance,
      isBound: this.#isBound,
      uploadKeys: [...this.#uploadKeys],
    };
    this.#transactionInstance = undefined;
    this.#isBound = false;
    this.#uploadKeys.clear();
    return detached;
  }

  async rollback(options?: ReturnOptions): Promise<void> {
    this.#guard.assertFree();
    this.#assertNotInBranch('rollback');
    validateReturn(options);
    const { instance } = this.#detachTransaction();
    if (instance !== undefined) await this.#guard.run(this.#sessionOn(instance).rollback(options));
  }

  async close(): Promise<void> {
    if (!this.#guard.beginClose()) return;
    await this.#guard.whenIdle();
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    this.#onClosed(this);
  }

  /** Forgets the open transaction if the error says that it has ended. Returns the error. */
  #endTransactionIfOver(error: unknown): unknown {
    if (hasCode(error, ['TX_NOT_COMMITTED'])) this.#detachTransaction();
    return error;
  }
}

function hasCode(error: unknown, codes: readonly QueueErrorCode[]): boolean {
  return error instanceof QueueError && codes.includes(error.code);
}
