/** A session whose calls are recorded. It has the calls of the engine's sessions, and needs nothing else of the engine. */
import type { DeliveredMessage, DeliveryPart, EnqueuedMessage } from './operation.ts';
import type { AttemptOf, Recorder } from './recorder.ts';

/** The parts of a message that a recorded session uses. */
export interface SessionMessage {
  id: string;
  receipt: string;
}

export interface SessionDequeueOptions {
  max?: number;
  waitMs?: number;
  subscriber?: string;
  signal?: AbortSignal;
}

/** The part of an engine's session that is recorded. */
export interface RecordableSession<Message extends SessionMessage, NewMessage> {
  readonly id: string;
  enqueue(queue: string, message: NewMessage): void;
  dequeue(queue: string, options?: SessionDequeueOptions): Promise<Message[]>;
  receive(queue: string, options?: SessionDequeueOptions & { holdMs?: number }): Promise<Message[]>;
  acknowledge(queue: string, receipts: string[]): void;
  release(queue: string, receipts: string[]): Promise<void>;
  extend(queue: string, receipts: string[], holdMs: number): Promise<void>;
  commit(): Promise<unknown>;
  rollback(): Promise<void>;
  close(): Promise<void>;
}

export interface MessageIdentity {
  message: string;
  digest?: string;
}

export interface RecordedSessionOptions<Message> {
  recorder: Recorder;
  /** Unique in the history. */
  name: string;
  /** The name of a delivered message and a digest of its content; undefined if no client enqueued it. */
  identify(message: Message): MessageIdentity | undefined | Promise<MessageIdentity | undefined>;
  /** The process that delivers, if that is not the recorder's. */
  host?: string;
  /** Order is promised for each log only: a session over a connection may enqueue to another one after a restart. */
  ordersByLog?: boolean;
  /** Called after `commit` of the session, before its answer. */
  onSubmitted?: () => void;
  /** Called after the answer of a commit, before this is recorded. */
  onAcknowledged?: () => void;
}

/** Codes of errors after which it is unknown whether the commit took effect. Any error without a code counts as one. */
const unknownCodes: readonly unknown[] = [
  'COMMIT_OUTCOME_UNKNOWN',
  'INSTANCE_FAILED',
  'INSTANCE_FENCED',
  'INVARIANT_BROKEN',
  'INSTANCE_UNREACHABLE',
  'INSTANCE_CLOSED',
  'SESSION_CLOSED',
  undefined,
];

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

interface Held {
  part: DeliveryPart;
  /** Receipt of a timed hold. */
  receipt: string | undefined;
}

/** How a message that is enqueued is recorded. */
export type MessageRecord = Omit<EnqueuedMessage, 'queue'>;

export class RecordedSession<Message extends SessionMessage, NewMessage> {
  readonly session: RecordableSession<Message, NewMessage>;
  readonly #options: RecordedSessionOptions<Message>;
  readonly #recorder: Recorder;
  #enqueues: EnqueuedMessage[] = [];
  #consumes: DeliveryPart[] = [];
  /** Timed holds, by receipt. */
  readonly #received = new Map<string, DeliveryPart>();

  constructor(session: RecordableSession<Message, NewMessage>, options: RecordedSessionOptions<Message>) {
    this.session = session;
    this.#options = options;
    this.#recorder = options.recorder;
  }

  enqueue(queue: string, message: NewMessage, record: MessageRecord): void {
    this.session.enqueue(queue, message);
    this.stage(queue, record);
  }

  /** Records a message that the caller itself enqueued with the session. */
  stage(queue: string, record: MessageRecord): void {
    this.#enqueues.push({ queue, ...record });
  }

  async dequeue(queue: string, options: SessionDequeueOptions = {}): Promise<Message[]> {
    const { messages, held } = await this.#deliver(queue, options, undefined);
    this.#consumes.push(...held.map(({ part }) => part));
    return messages;
  }

  async receive(queue: string, options: SessionDequeueOptions & { holdMs: number }): Promise<Message[]> {
    const { messages, held } = await this.#deliver(queue, options, options.holdMs);
    for (const { receipt, part } of held) this.#received.set(receipt!, part);
    return messages;
  }

  async #deliver(
    queue: string,
    options: SessionDequeueOptions & { holdMs?: number },
    holdMs: number | undefined,
  ): Promise<{ messages: Message[]; held: Held[] }> {
    const { host } = this.#options;
    const { subscriber, max = 1 } = options;
    const operation = this.#recorder.begin({
      type: 'delivery',
      queue,
      max,
      messages: [],
      ...(subscriber !== undefined && { subscriber }),
      ...(host !== undefined && { host }),
      ...(holdMs !== undefined && { holdMs }),
    });
    let messages: Message[];
    try {
      messages = await (holdMs === undefined
        ? this.session.dequeue(queue, options)
        : this.session.receive(queue, options));
    } catch (error) {
      // Messages may have been delivered and not arrived.
      operation.end('unknown');
      throw error;
    }
    const held: Held[] = [];
    const delivered: DeliveredMessage[] = [];
    for (const message of messages) {
      const identified = this.#options.identify(message);
      const identity = identified instanceof Promise ? await identified : identified;
      if (identity === undefined) {
        this.#recorder.note({ type: 'unreadable', queue, text: message.id });
        continue;
      }
      const log = message.id.split('.')[0]!;
      delivered.push(this.#options.ordersByLog === true ? { ...identity, log } : identity);
      const part: DeliveryPart = { delivery: operation.id, queue, message: identity.message };
      if (subscriber !== undefined) part.subscriber = subscriber;
      held.push({ part, receipt: holdMs === undefined ? undefined : message.receipt });
    }
    operation.end('ok', { messages: delivered });
    return { messages, held };
  }

  acknowledge(queue: string, receipts: string[]): void {
    this.session.acknowledge(queue, receipts);
    this.#consumes.push(...this.#partsOf(receipts));
  }

  #partsOf(receipts: readonly string[]): DeliveryPart[] {
    return receipts.flatMap((receipt) => this.#received.get(receipt) ?? []);
  }

  async release(queue: string, receipts: string[]): Promise<void> {
    await this.#recorded({ type: 'release', deliveries: this.#partsOf(receipts) }, () =>
      this.session.release(queue, receipts),
    );
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    await this.#recorded({ type: 'extend', deliveries: this.#partsOf(receipts), holdMs }, () =>
      this.session.extend(queue, receipts, holdMs),
    );
  }

  async #recorded(attempt: AttemptOf<'release' | 'extend'>, call: () => Promise<void>): Promise<void> {
    const operation = this.#recorder.begin(attempt);
    try {
      await call();
    } catch (error) {
      operation.end(unknownCodes.includes(codeOf(error)) ? 'unknown' : 'fail');
      throw error;
    }
    operation.end('ok');
  }

  #beginTransaction() {
    const operation = this.#recorder.begin({
      type: 'transaction',
      session: this.#options.name,
      enqueues: this.#enqueues,
      consumes: this.#consumes,
    });
    this.#enqueues = [];
    this.#consumes = [];
    return operation;
  }

  async commit(): Promise<void> {
    const { onSubmitted, onAcknowledged } = this.#options;
    const operation = this.#beginTransaction();
    try {
      const committing = this.session.commit();
      onSubmitted?.();
      await committing;
    } catch (error) {
      operation.end(unknownCodes.includes(codeOf(error)) ? 'unknown' : 'fail');
      throw error;
    }
    onAcknowledged?.();
    operation.end('ok');
  }

  async rollback(): Promise<void> {
    await this.#withoutCommit(() => this.session.rollback());
  }

  async close(): Promise<void> {
    await this.#withoutCommit(() => this.session.close());
  }

  async #withoutCommit(call: () => Promise<void>): Promise<void> {
    if (this.#enqueues.length + this.#consumes.length === 0) return call();
    const operation = this.#beginTransaction();
    try {
      await call();
    } finally {
      operation.end('fail');
    }
  }
}
