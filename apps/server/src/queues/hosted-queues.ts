/**
 * The queues of the cluster, as the process of an instance uses them: what the instance itself can do is done by a session in
 * this process; for all else the process is a client of the cluster, as the server is.
 */
import {
  type ClusterClient,
  type CommitResult,
  type Instance,
  type Message,
  type NewMessage,
  type ProcessHost,
  QueueError,
  type ReceiveOptions,
  type ReturnOptions,
  type Session,
  type StreamedMessage,
  splitReceipts,
  withInstancePrefix,
} from '@shardlab/engine';
import type { QueueSession, ServedQueues } from './queue-service.ts';

/**
 * So many dequeues begin at the instance of this process before one asks the instances in turn. Otherwise the messages of an
 * instance would wait for as long as all consumers are connected to another one that has messages too.
 */
const dequeuesOfHosted = 7;

export class HostedQueues implements ServedQueues {
  readonly #host: ProcessHost;
  readonly #client: ClusterClient;
  #dequeues = 0;

  constructor(host: ProcessHost, client: ClusterClient) {
    this.#host = host;
    this.#client = client;
  }

  openSession(): QueueSession {
    return new HostedSession(this);
  }

  browse(...args: Parameters<ClusterClient['browse']>): ReturnType<ClusterClient['browse']> {
    return this.#client.browse(...args);
  }

  openClusterSession(): Session {
    return this.#client.openSession();
  }

  /** Returns the instance with this number, without a number the process's own; undefined if it is hosted elsewhere. */
  hosted(id?: number): Instance | undefined {
    return this.#host.hosted().find((instance) => id === undefined || instance.id === id);
  }

  /** Whether this dequeue begins at an instance of this process. */
  takeTurn(): boolean {
    this.#dequeues = (this.#dequeues + 1) % (dequeuesOfHosted + 1);
    return this.#dequeues !== 0;
  }
}

class HostedSession implements QueueSession {
  readonly #queues: HostedQueues;
  /** Sessions on instances of this process. */
  readonly #own = new Map<Instance, Session>();
  #cluster: Session | undefined;
  /** The one that has the open transaction. */
  #transaction: Session | undefined;

  constructor(queues: HostedQueues) {
    this.#queues = queues;
  }

  #sessionOn(instance: Instance | undefined): Session {
    if (instance === undefined) {
      this.#cluster ??= this.#queues.openClusterSession();
      return this.#cluster;
    }
    const known = this.#own.get(instance);
    if (known !== undefined) return known;
    const session = instance.openSession();
    this.#own.set(instance, session);
    return session;
  }

  /** Chooses no instance that is leaving the cluster or returning to its own process. */
  #enqueueSession(): Session {
    return this.#sessionOn(this.#queues.hosted());
  }

  enqueue(queue: string, message: NewMessage): void {
    const session = this.#transaction ?? this.#enqueueSession();
    session.enqueue(queue, message);
    this.#transaction = session;
  }

  enqueueNow(queue: string, ...messages: NewMessage[]) {
    return this.#enqueueSession().enqueueNow(queue, ...messages);
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#transaction ??= this.#sessionOn(undefined);
    return this.#transaction.enqueueStream(queue, message);
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    const { sameInstanceAs, ...rest } = options;
    const wanted = sameInstanceAs === undefined ? undefined : splitReceipts([sameInstanceAs])[0];
    if (wanted === undefined && !this.#queues.takeTurn())
      return this.#sessionOn(undefined).receive(queue, options);
    const instance = this.#queues.hosted(wanted);
    if (instance === undefined) return this.#sessionOn(undefined).receive(queue, options);
    const messages = await this.#sessionOn(instance).receive(queue, { ...rest, waitMs: 0 });
    if (messages.length > 0) return messages.map((message) => withInstancePrefix(instance.id, message));
    return wanted === undefined ? this.#sessionOn(undefined).receive(queue, options) : [];
  }

  /** The instance's session, and the receipts by their names there. */
  #ownersOf(receipts: string[]): [session: Session, receipts: string[]] {
    const [id, stripped] = splitReceipts(receipts);
    const instance = this.#queues.hosted(id);
    return instance === undefined
      ? [this.#sessionOn(undefined), receipts]
      : [this.#sessionOn(instance), stripped];
  }

  acknowledge(queue: string, receipts: string[]): void {
    const [session, known] = this.#ownersOf(receipts);
    if (this.#transaction !== undefined && this.#transaction !== session)
      throw new QueueError('TX_SPANS_INSTANCES');
    session.acknowledge(queue, known);
    this.#transaction = session;
  }

  async release(queue: string, receipts: string[], options?: ReturnOptions): Promise<void> {
    const [session, known] = this.#ownersOf(receipts);
    await session.release(queue, known, options);
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    const [session, known] = this.#ownersOf(receipts);
    await session.extend(queue, known, holdMs);
  }

  messageOfReceipt(queue: string, receipt: string): Promise<Message> {
    return this.#sessionOn(undefined).messageOfReceipt(queue, receipt);
  }

  /**
   * Gets no idempotency key: requests with one go to the server's process, since their key must be known before messages are
   * staged.
   */
  async commit(options?: { idempotencyKey?: string }): Promise<CommitResult> {
    const session = this.#endTransaction() ?? this.#sessionOn(undefined);
    return session.commit(options);
  }

  async rollback(options?: ReturnOptions): Promise<void> {
    await this.#endTransaction()?.rollback(options);
  }

  #endTransaction(): Session | undefined {
    const session = this.#transaction;
    this.#transaction = undefined;
    return session;
  }

  async close(): Promise<void> {
    const all = [...this.#own.values()];
    if (this.#cluster !== undefined) all.push(this.#cluster);
    await Promise.all(all.map((session) => session.close()));
  }
}
