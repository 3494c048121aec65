/** The queue API on the queues of the cluster. Knows wire messages and clients that disconnect, but not HTTP. */
import {
  type BrowseQuery,
  type Dequeue,
  type MessageOut,
  queueLimits,
  type NewMessage as WireMessage,
} from '@shardlab/contract';
import {
  type CommitResult,
  type Message,
  QueueError,
  type QueueErrorCode,
  type ReturnOptions,
  type Session,
  type StreamedMessage,
} from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { limits } from '../limits.ts';
import { type Connection, ConnectionSessions } from './connection-sessions.ts';
import { fromWire, toWire } from './message-codec.ts';
import { explainClosedSession } from './moved-instance.ts';

/** The calls of a session that the queue API uses. */
export type QueueSession = Pick<
  Session,
  | 'enqueue'
  | 'enqueueNow'
  | 'enqueueStream'
  | 'receive'
  | 'acknowledge'
  | 'release'
  | 'extend'
  | 'messageOfReceipt'
  | 'commit'
  | 'rollback'
  | 'close'
>;

/** The queues of the cluster, for the server and for the process of an instance. */
export interface ServedQueues extends Pick<QueueHost, 'browse'> {
  openSession(): QueueSession;
}

export interface Delivery {
  messages: MessageOut[];
  /** Call it if the response did not reach the client: its held messages return to the queue at once. */
  nack(): void;
}

/** Memory for an answer, until the client has read it. */
export interface AnswerRoom {
  /** Takes the payload bytes of messages that will be in the answer. Throws if there is no room for them. */
  take(bytes: number): void;
}

/** For answers that stay in this process. */
const unlimited: AnswerRoom = { take() {} };

export interface Download {
  message: Message;
  /** Call it when the payload was sent, or could not be sent. */
  end(): Promise<void>;
}

const defaults = { max: 1, waitMs: 0, holdMs: 30_000 } as const;

export class QueueService {
  readonly #cluster: { readonly queues: ServedQueues };
  /** Names of queues that were found to have immediate visibility; one may be dropped and created anew with another. */
  readonly #immediate = new Set<string>();
  #sessions: { host: ServedQueues; byConnection: ConnectionSessions<QueueSession> } | undefined;

  constructor(cluster: { readonly queues: ServedQueues }) {
    this.#cluster = cluster;
  }

  /** A new host, after a change of topology, gets new sessions; the old ones were closed with their instance. */
  get #connectionSessions(): ConnectionSessions<QueueSession> {
    const { queues } = this.#cluster;
    if (this.#sessions?.host !== queues) {
      this.#sessions = { host: queues, byConnection: new ConnectionSessions(queues, limits.sessionsMax) };
    }
    return this.#sessions.byConnection;
  }

  /**
   * Resolves with the ids once all messages are committed, or visible at once. If one is refused, none is enqueued. Under an
   * idempotency key they are enqueued once.
   */
  async enqueue(
    connection: Connection,
    queue: string,
    messages: readonly WireMessage[],
    idempotencyKey?: string,
  ): Promise<{ ids: string[]; replayed: boolean }> {
    const options = idempotencyKey === undefined ? undefined : { idempotencyKey };
    const decoded = messages.map(fromWire);
    return this.#connectionSessions.run(connection, queue, async (session) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          if (this.#immediate.has(queue)) {
            if (idempotencyKey !== undefined) throw keyOfImmediateQueue();
            const { ids } = await session.enqueueNow(queue, ...decoded);
            return { ids, replayed: false };
          }
          for (const message of decoded) session.enqueue(queue, message);
          const { ids, replayed } = await session.commit(options);
          return { ids, replayed };
        } catch (error) {
          if (isCode(error, 'SESSION_CLOSED')) throw explainClosedSession(error);
          await session.rollback();
          const retry = isCode(error, 'TX_NOT_COMMITTED') || this.#learnVisibility(queue, error);
          if (!retry || attempt === limits.enqueueAttemptsMax) throw error;
        }
      }
    });
  }

  /** Whether the error shows that the queue has another visibility than was known here. */
  #learnVisibility(queue: string, error: unknown): boolean {
    if (!(error instanceof QueueError) || error.code !== 'VISIBILITY_MISMATCH') return false;
    if (error.details.visibility === 'immediate') this.#immediate.add(queue);
    else this.#immediate.delete(queue);
    return true;
  }

  /** Like `enqueue`, for one message whose payload is streamed. An interrupted upload leaves nothing behind. */
  async enqueueStream(
    queue: string,
    message: StreamedMessage,
  ): Promise<Pick<CommitResult, 'ids' | 'replayed'>> {
    const { idempotencyKey } = message;
    return await this.#withSession(async (session) => {
      await session.enqueueStream(queue, message);
      return await session.commit(idempotencyKey === undefined ? undefined : { idempotencyKey });
    });
  }

  /** Opens the message of a receipt so that its payload can be sent. */
  async download(queue: string, receipt: string): Promise<Download> {
    const session = this.#cluster.queues.openSession();
    let open = true;
    const end = async () => {
      if (!open) return;
      open = false;
      await session.close();
    };
    try {
      return { message: await session.messageOfReceipt(queue, receipt), end };
    } catch (error) {
      await end();
      throw error;
    }
  }

  /**
   * Delivers the ready messages, up to `max` and to what fits into a response. In the mode `at-most-once` they are consumed when
   * this returns. If `signal` aborts earlier because the client disconnected, or there is no `room` for them, they return to the queue.
   */
  async dequeue(
    queue: string,
    options: Dequeue,
    signal: AbortSignal,
    room: AnswerRoom = unlimited,
  ): Promise<Delivery> {
    const { max = defaults.max, waitMs = defaults.waitMs, holdMs = defaults.holdMs } = options;
    const from = { signal, ...subscriberOf(options) };
    // A separate session, because a waiting call would delay other calls of the connection.
    const session = this.#cluster.queues.openSession();
    try {
      const taken = await take(
        max,
        (step, first) =>
          session.receive(queue, {
            ...step,
            ...from,
            holdMs,
            ...(first && { sameInstanceAs: first.receipt }),
          }),
        waitMs,
      );
      if (signal.aborted) {
        await this.#nack(queue, taken);
        return emptyDelivery;
      }
      try {
        room.take(bytesOf(taken));
      } catch (error) {
        await this.#nack(queue, taken);
        throw error;
      }
      if (options.mode !== 'at-most-once') {
        return { messages: taken.map(toDeliveredMessage), nack: () => void this.#nack(queue, taken) };
      }
      // Consuming a message before its payload is fetched would delete the payload.
      const [streamed, whole] = [taken.filter(isStreamed), taken.filter((message) => !isStreamed(message))];
      if (whole.length > 0) await this.#consume(session, queue, { whole, streamed });
      const messages = taken.map((message) =>
        message.streamed ? toDeliveredMessage(message) : toWire(message),
      );
      return { messages, nack: () => void this.#nack(queue, streamed) };
    } finally {
      await session.close();
    }
  }

  /** If the commit fails, all messages return to the queue before the error is reported. */
  async #consume(
    session: QueueSession,
    queue: string,
    { whole, streamed }: { whole: readonly Message[]; streamed: readonly Message[] },
  ): Promise<void> {
    try {
      session.acknowledge(
        queue,
        whole.map(({ receipt }) => receipt),
      );
      await session.commit();
    } catch (error) {
      // Two calls: a commit whose answer was lost may have consumed the whole messages. Their receipts are then stale, and one
      // call for all would release none.
      await Promise.all([this.#nack(queue, whole), this.#nack(queue, streamed)]);
      throw error;
    }
  }

  async acknowledge(queue: string, receipts: string[]): Promise<void> {
    await this.#withSession(async (session) => {
      session.acknowledge(queue, receipts);
      await session.commit();
    });
  }

  async release(queue: string, receipts: string[], how: ReturnOptions = {}): Promise<void> {
    await this.#withSession(async (session) => session.release(queue, receipts, how));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    await this.#withSession(async (session) => session.extend(queue, receipts, holdMs));
  }

  /**
   * A page of committed messages, unconsumed or processed. Shorter than `limit` if the payloads are large, or if few of the
   * messages that it reads are in the requested state, or `signal` aborts.
   */
  async browse(
    queue: string,
    options: BrowseQuery,
    { signal, room = unlimited }: { signal?: AbortSignal; room?: AnswerRoom } = {},
  ): Promise<{ messages: MessageOut[]; next: string | null }> {
    const messages: MessageOut[] = [];
    let bytes = 0;
    let next: string | null = options.after ?? null;
    const { limit = 100, correlationId, state } = options;
    // A page of a cluster ends with its instance, and one of a state where enough was read: the answer has several.
    for (let pages = 0; pages < limits.browsePagesMax; pages += 1) {
      if (messages.length === limit || !hasRoom(bytes) || signal?.aborted) break;
      const page = await this.#cluster.queues.browse(queue, {
        limit: limit - messages.length,
        bytesMax: limits.responsePayloadBytes - bytes,
        ...subscriberOf(options),
        ...(correlationId === undefined ? {} : { correlationId }),
        ...(state === 'processed' ? { processed: true } : state !== undefined && { state }),
        ...(next === null ? {} : { after: next }),
      });
      room.take(bytesOf(page.messages));
      bytes += bytesOf(page.messages);
      for (const message of page.messages) {
        const { state, untilMs } = message;
        messages.push({ ...toWire(message), state, ...(untilMs === undefined ? {} : { untilMs }) });
      }
      next = page.next;
      if (next === null) break;
    }
    return { messages, next };
  }

  async #nack(queue: string, messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const receipts = messages.map(({ receipt }) => receipt);
    try {
      await this.release(queue, receipts);
    } catch {
      // A hold has already ended, or the queue was dropped. The other holds will expire.
    }
  }

  async #withSession<T>(work: (session: QueueSession) => Promise<T>): Promise<T> {
    const session = this.#cluster.queues.openSession();
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }
}

const subscriberOf = ({ subscriber }: { subscriber?: string }) =>
  subscriber === undefined ? {} : { subscriber };

const isCode = (error: unknown, code: QueueErrorCode) => error instanceof QueueError && error.code === code;

const isStreamed = ({ streamed }: Message) => streamed;

/** Payload bytes in the response. Streamed payloads are fetched separately. */
const bytesOf = (messages: readonly Pick<Message, 'streamed' | 'payloadBytes'>[]) =>
  messages.reduce((bytes, { streamed, payloadBytes }) => bytes + (streamed ? 0 : payloadBytes), 0);

const toDeliveredMessage = (message: Message): MessageOut => ({
  ...toWire(message),
  receipt: message.receipt,
});

const emptyDelivery: Delivery = { messages: [], nack() {} };

/**
 * One call, which waits for the first messages. More calls follow if it returned fewer than wanted while there is room: messages may
 * have been on their way from the disk.
 */
async function take(
  max: number,
  call: (
    step: { max: number; bytesMax: number; waitMs: number },
    first: Message | undefined,
  ) => Promise<Message[]>,
  waitMs: number,
): Promise<Message[]> {
  const taken: Message[] = [];
  let bytes = 0;
  while (taken.length < max && hasRoom(bytes)) {
    const options = {
      max: max - taken.length,
      bytesMax: limits.responsePayloadBytes - bytes,
      waitMs: taken.length === 0 ? waitMs : 0,
    };
    const messages = await call(options, taken[0]).catch((error: unknown) => {
      // The queue has been stopped or dropped; messages delivered before still belong to the caller.
      if (taken.length > 0) return [];
      throw error;
    });
    if (messages.length === 0) break;
    taken.push(...messages);
    bytes += bytesOf(messages);
  }
  return taken;
}

/** Whether a message is certain to fit into a response that has so many bytes of payloads, whatever its size. */
const hasRoom = (bytes: number) => bytes <= limits.responsePayloadBytes - queueLimits.payloadBytesMax;

const keyOfImmediateQueue = () =>
  new QueueError('IDEMPOTENCY_KEY_UNSUPPORTED', {
    message: 'An enqueue that is visible at once is no transaction and cannot have an idempotency key',
  });
