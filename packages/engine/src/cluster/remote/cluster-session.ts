/**
 * A session over all instances of a cluster. It enqueues to one of them, its home, as long as that stays, so that its
 * messages keep their order; it dequeues from any. A transaction lies on one instance: the one of its first operation, or
 * the one that had messages for its first dequeue. Receipts say which instance they are of: `<instance>/<receipt>`.
 */
import { randomUUID } from 'node:crypto';
import { QueueError, type QueueErrorCode } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { Committed } from '../../instance/committed.ts';
import type {
  CommitResult,
  DequeueOptions,
  Message,
  NewMessage,
  ReceiveOptions,
  RemoteInstance,
  Session,
  SqlParameters,
  StreamedMessage,
} from '../../types.ts';

export interface ClusterLinks {
  /** Instances that are served now, beginning at another one each time. Throws `INSTANCE_UNREACHABLE` if there is none. */
  served(): number[];
  /** Instances that take messages, served at the moment or not. */
  staying(): number[];
  link(instance: number): RemoteInstance;
  /** The instance that the application's tables lie on, or the one to make their home. */
  applicationHome(): number;
}

/** The instance cannot hand out now; another one may. */
const passing: readonly QueueErrorCode[] = ['INSTANCE_UNREACHABLE', 'INSTANCE_CLOSED', 'LEASE_LAPSED'];

export class ClusterSession implements Session {
  readonly id = randomUUID();
  readonly #links: ClusterLinks;
  readonly #onClosed: (session: ClusterSession) => void;
  readonly #sessions = new Map<number, Session>();
  /** Where it enqueues. */
  #home: number | undefined;
  /** Where the open transaction lies. */
  #bound: number | undefined;
  #busy: Promise<unknown> | undefined;
  readonly #closing = new AbortController();

  constructor(links: ClusterLinks, onClosed: (session: ClusterSession) => void) {
    this.#links = links;
    this.#onClosed = onClosed;
  }

  enqueue(queue: string, message: NewMessage): void {
    this.#assertFree();
    const instance = this.#bound ?? this.#findHome();
    this.#on(instance).enqueue(queue, message);
    this.#bound = instance;
  }

  /** Another one only if it leaves: a failover brings it back. */
  #findHome(): number {
    const staying = this.#links.staying();
    if (this.#home === undefined || !staying.includes(this.#home)) {
      const served = this.#links.served();
      this.#home = served.find((instance) => staying.includes(instance)) ?? served[0]!;
    }
    return this.#home;
  }

  #on(instance: number): Session {
    let session = this.#sessions.get(instance);
    if (session === undefined) {
      session = this.#links.link(instance).openSession();
      this.#sessions.set(instance, session);
    }
    return session;
  }

  async enqueueStream(queue: string, message: StreamedMessage): Promise<{ bytes: number }> {
    this.#assertFree();
    const instance = this.#bound ?? this.#findHome();
    return this.#exclusively(async () => {
      try {
        const uploaded = await this.#on(instance).enqueueStream(queue, message);
        this.#bound = instance;
        return uploaded;
      } catch (error) {
        throw this.#unbound(error);
      }
    });
  }

  async lookUp(queue: string, receipt: string): Promise<Message> {
    this.#assertFree();
    const [instance, [own]] = splitReceipts([receipt]);
    return withInstance(instance, await this.#exclusively(() => this.#on(instance).lookUp(queue, own!)));
  }

  async dequeue(queue: string, options: DequeueOptions = {}): Promise<Message[]> {
    this.#assertFree();
    return this.#exclusively(async () => {
      const found = await this.#find(this.#bound, options, (session, step) => session.dequeue(queue, step));
      if (found.messages.length > 0) this.#bound = found.instance;
      return found.messages;
    });
  }

  async receive(queue: string, options: ReceiveOptions = {}): Promise<Message[]> {
    this.#assertFree();
    const { beside, ...rest } = options;
    const from = beside === undefined ? undefined : splitReceipts([beside])[0];
    return this.#exclusively(async () => {
      const found = await this.#find(from, rest, (session, step) =>
        session.receive(queue, { ...rest, ...step }),
      );
      return found.messages;
    });
  }

  /** Asks one instance after the other for what is ready, and waits a little at the last one, until the time is up. */
  async #find(
    from: number | undefined,
    { waitMs = 0, ...options }: DequeueOptions,
    handOut: (session: Session, step: DequeueOptions) => Promise<Message[]>,
  ): Promise<{ instance?: number; messages: Message[] }> {
    const signals = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const signal = AbortSignal.any(signals);
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const instances = from === undefined ? this.#links.served() : [from];
      let answered = false;
      let failure: unknown;
      for (const instance of instances) {
        const isLast = instance === instances.at(-1);
        const leftMs = isLast ? Math.max(0, Math.ceil(untilMs - performance.now())) : 0;
        const step = { ...options, waitMs: Math.min(leftMs, limits.clusterLookMs), signal };
        try {
          const messages = await handOut(this.#on(instance), step);
          if (messages.length > 0) {
            return { instance, messages: messages.map((message) => withInstance(instance, message)) };
          }
          answered = true;
        } catch (error) {
          if (!isOneOf(error, passing) || from !== undefined) throw this.#unbound(error);
          failure = error;
        }
      }
      if (signal.aborted || performance.now() >= untilMs) {
        if (!answered) throw failure;
        return { messages: [] };
      }
    }
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.#assertFree();
    const [instance, own] = splitReceipts(receipts);
    if (this.#bound !== undefined && this.#bound !== instance) throw new QueueError('TX_SPANS_INSTANCES');
    this.#on(instance).acknowledge(queue, own);
    this.#bound = instance;
  }

  execute(sql: string, parameters?: SqlParameters): void {
    this.#assertFree();
    const home = this.#links.applicationHome();
    if (this.#bound !== undefined && this.#bound !== home) {
      throw new QueueError('TX_SPANS_INSTANCES', { details: { instances: [this.#bound, home] } });
    }
    this.#on(home).execute(sql, parameters);
    this.#bound = home;
  }

  async query(): Promise<never> {
    throw new QueueError('QUERY_UNSUPPORTED');
  }

  async release(queue: string, receipts: string[]): Promise<void> {
    this.#assertFree();
    const [instance, own] = splitReceipts(receipts);
    await this.#exclusively(() => this.#on(instance).release(queue, own));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    this.#assertFree();
    const [instance, own] = splitReceipts(receipts);
    await this.#exclusively(() => this.#on(instance).extend(queue, own, holdMs));
  }

  async commit(): Promise<CommitResult> {
    this.#assertFree();
    const bound = this.#bound;
    this.#bound = undefined;
    if (bound === undefined) return new Committed([]);
    return this.#exclusively(() => this.#on(bound).commit());
  }

  async rollback(): Promise<void> {
    this.#assertFree();
    const bound = this.#bound;
    this.#bound = undefined;
    if (bound !== undefined) await this.#exclusively(() => this.#on(bound).rollback());
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#busy?.catch(() => undefined); // its caller has the error
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    this.#onClosed(this);
  }

  /** The open transaction is over where the instance says so. */
  #unbound(error: unknown): unknown {
    if (isOneOf(error, ['TX_NOT_COMMITTED'])) this.#bound = undefined;
    return error;
  }

  #assertFree(): void {
    if (this.#closing.signal.aborted)
      throw new QueueError('SESSION_CLOSED', { details: { session: this.id } });
    if (this.#busy !== undefined) throw new QueueError('SESSION_BUSY', { details: { session: this.id } });
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const busy = work();
    this.#busy = busy;
    try {
      return await busy;
    } finally {
      this.#busy = undefined;
    }
  }
}

function isOneOf(error: unknown, codes: readonly QueueErrorCode[]): boolean {
  return error instanceof QueueError && codes.includes(error.code);
}

function withInstance(instance: number, message: Message): Message {
  const { id, correlationId, groupKey, properties, recipients, priority } = message;
  const { payloadBytes, streamed, enqueuedAtMs, deliveryCount } = message;
  return {
    id,
    get payload() {
      return message.payload;
    },
    payloadBytes,
    streamed,
    payloadStream: () => message.payloadStream(),
    correlationId,
    groupKey,
    properties,
    recipients,
    priority,
    enqueuedAtMs,
    deliveryCount,
    receipt: `${instance}/${message.receipt}`,
  };
}

/** The instance of the receipts, and what they are called there. Throws `RECEIPT_STALE`, `TX_SPANS_INSTANCES`. */
function splitReceipts(receipts: readonly string[]): [instance: number, own: string[]] {
  const split = receipts.map((receipt) => {
    const [, instance, own] = /^([1-9]\d?)\/(.+)$/.exec(receipt) ?? [];
    if (instance === undefined || own === undefined) {
      throw new QueueError('RECEIPT_STALE', { details: { receipt } });
    }
    return { instance: Number(instance), own };
  });
  const instances = new Set(split.map(({ instance }) => instance));
  const [instance] = instances;
  if (instance === undefined) throw new QueueError('OPTIONS_INVALID', { sentence: 'receipts is empty' });
  if (instances.size > 1)
    throw new QueueError('TX_SPANS_INSTANCES', { details: { instances: [...instances] } });
  return [instance, split.map(({ own }) => own)];
}
