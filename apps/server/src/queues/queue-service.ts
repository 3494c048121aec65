/** The queue API over the queues of the cluster. Knows messages of the wire and clients that vanish, but no HTTP. */
import {
  type BrowseQuery,
  type Dequeue,
  type MessageOut,
  queueLimits,
  type NewMessage as WireMessage,
} from '@shardlab/contract';
import {
  type Message,
  QueueError,
  type QueueErrorCode,
  type Session,
  type StreamedMessage,
} from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { ServerError } from '../errors.ts';
import { limits } from '../limits.ts';
import { type Connection, ConnectionSessions } from './connection-sessions.ts';
import { fromWire, toWire } from './message-codec.ts';

export interface HandOut {
  messages: MessageOut[];
  /** The answer did not reach the client: what it holds returns to the queue at once. */
  giveBack(): void;
}

export interface Download {
  message: Message;
  /** To be called when its payload was sent, or could not be. */
  end(): Promise<void>;
}

const defaults = { max: 1, waitMs: 0, holdMs: 30_000 } as const;

export class QueueService {
  readonly #cluster: { readonly queues: QueueHost };
  #sessions: { of: QueueHost; byConnection: ConnectionSessions } | undefined;
  #dequeues = 0;
  #downloads = 0;

  constructor(cluster: { readonly queues: QueueHost }) {
    this.#cluster = cluster;
  }

  /** Those of before are closed with the instance that they were of. */
  get #connectionSessions(): ConnectionSessions {
    const { queues } = this.#cluster;
    if (this.#sessions?.of !== queues) {
      this.#sessions = { of: queues, byConnection: new ConnectionSessions(queues, limits.sessionsMax) };
    }
    return this.#sessions.byConnection;
  }

  /** Dequeue calls under way. */
  get dequeues(): number {
    return this.#dequeues;
  }

  /** Resolves with the ids once all messages are committed; none is, if one is refused. */
  async enqueue(connection: Connection, queue: string, messages: readonly WireMessage[]): Promise<string[]> {
    const decoded = messages.map((message, index) => fromWire(message, `/messages/${index}`));
    return this.#connectionSessions.run(connection, queue, async (session) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          for (const message of decoded) session.enqueue(queue, message);
          const { ids } = await session.commit();
          return ids;
        } catch (error) {
          // Closed under this call: the instance it was on is moving.
          if (isCode(error, 'SESSION_CLOSED')) throw new ServerError('TOPOLOGY_CHANGING', { cause: error });
          await session.rollback();
          if (!isCode(error, 'TX_NOT_COMMITTED') || attempt === limits.enqueueAttemptsMax) throw error;
        }
      }
    });
  }

  /** As `enqueue`, of one message whose payload is not in memory. What breaks off leaves nothing. */
  async enqueueStream(queue: string, message: StreamedMessage): Promise<string[]> {
    let ids: string[] = [];
    await this.#withSession(async (session) => {
      await session.enqueueStream(queue, message);
      ({ ids } = await session.commit());
    });
    return ids;
  }

  /** The message that a receipt is of, for its payload to be sent. Throws `DOWNLOADS_FULL`. */
  async download(queue: string, receipt: string): Promise<Download> {
    if (this.#downloads >= limits.downloadsMax) {
      throw new ServerError('DOWNLOADS_FULL', { details: { max: limits.downloadsMax } });
    }
    this.#downloads += 1;
    const session = this.#cluster.queues.openSession();
    let open = true;
    const end = async () => {
      if (!open) return;
      open = false;
      this.#downloads -= 1;
      await session.close();
    };
    try {
      return { message: await session.lookUp(queue, receipt), end };
    } catch (error) {
      await end();
      throw error;
    }
  }

  /**
   * Hands messages out, as many as are ready, up to `max` and to what an answer may carry. With `auto` they are consumed
   * when this returns. If `signal` aborts before, because the client is gone, they return to the queue.
   */
  async dequeue(queue: string, options: Dequeue, signal: AbortSignal): Promise<HandOut> {
    if (this.#dequeues >= limits.dequeuesMax) {
      throw new ServerError('DEQUEUES_FULL', { details: { max: limits.dequeuesMax } });
    }
    const { max = defaults.max, waitMs = defaults.waitMs, holdMs = defaults.holdMs } = options;
    const from = { signal, ...subscriberOf(options) };
    this.#dequeues += 1;
    // A session of its own: a call that waits would hold up the others of its connection.
    const session = this.#cluster.queues.openSession();
    try {
      const taken = await take(
        max,
        (step, first) =>
          session.receive(queue, { ...step, ...from, holdMs, ...(first && { beside: first.receipt }) }),
        waitMs,
      );
      if (signal.aborted) {
        this.#giveBack(queue, taken);
        return nothing;
      }
      if (options.mode !== 'auto') {
        return { messages: taken.map(handOut), giveBack: () => this.#giveBack(queue, taken) };
      }
      // Who consumes a message whose payload is yet to be fetched would lose it.
      const [streamed, whole] = [taken.filter(isStreamed), taken.filter((message) => !isStreamed(message))];
      if (whole.length > 0) {
        session.acknowledge(
          queue,
          whole.map(({ receipt }) => receipt),
        );
        await session.commit();
      }
      const messages = taken.map((message) => (message.streamed ? handOut(message) : toWire(message)));
      return { messages, giveBack: () => this.#giveBack(queue, streamed) };
    } finally {
      this.#dequeues -= 1;
      await session.close();
    }
  }

  async acknowledge(queue: string, receipts: string[]): Promise<void> {
    await this.#withSession(async (session) => {
      session.acknowledge(queue, receipts);
      await session.commit();
    });
  }

  async release(queue: string, receipts: string[]): Promise<void> {
    await this.#withSession(async (session) => session.release(queue, receipts));
  }

  async extend(queue: string, receipts: string[], holdMs: number): Promise<void> {
    await this.#withSession(async (session) => session.extend(queue, receipts, holdMs));
  }

  /** A page of what is committed and not consumed; shorter than `limit` where the payloads are large. */
  async browse(
    queue: string,
    options: BrowseQuery,
  ): Promise<{ messages: MessageOut[]; next: string | null }> {
    const messages: MessageOut[] = [];
    let bytes = 0;
    let next: string | null = options.after ?? null;
    const { limit = 100, correlationId } = options;
    for (;;) {
      const step = stepWithin(limit - messages.length, bytes);
      if (step < 1) return { messages, next };
      const page = await this.#cluster.queues.browse(queue, {
        limit: step,
        ...subscriberOf(options),
        ...(correlationId === undefined ? {} : { correlationId }),
        ...(next === null ? {} : { after: next }),
      });
      for (const message of page.messages) {
        const { state, untilMs } = message;
        messages.push({ ...toWire(message), state, ...(untilMs === undefined ? {} : { untilMs }) });
        bytes += bytesInAnswer(message);
      }
      next = page.next;
      if (next === null) return { messages, next };
    }
  }

  #giveBack(queue: string, messages: readonly Message[]): void {
    if (messages.length === 0) return;
    this.release(
      queue,
      messages.map(({ receipt }) => receipt),
    ).catch(() => {
      // Some hold has ended by itself, or the queue is gone: the rest ends with its time.
    });
  }

  async #withSession(work: (session: Session) => Promise<void>): Promise<void> {
    const session = this.#cluster.queues.openSession();
    try {
      await work(session);
    } finally {
      await session.close();
    }
  }
}

const subscriberOf = ({ subscriber }: { subscriber?: string }) =>
  subscriber === undefined ? {} : { subscriber };

const isCode = (error: unknown, code: QueueErrorCode) => error instanceof QueueError && error.code === code;

const isStreamed = ({ streamed }: Message) => streamed;

/** A streamed payload is fetched by itself. */
const bytesInAnswer = ({ streamed, payloadBytes }: Pick<Message, 'streamed' | 'payloadBytes'>) =>
  streamed ? 0 : payloadBytes;

const handOut = (message: Message): MessageOut => ({ ...toWire(message), receipt: message.receipt });

const nothing: HandOut = { messages: [], giveBack() {} };

/** Waits for the first messages only; takes small steps where payloads are large, so that an answer stays bounded. */
async function take(
  max: number,
  call: (step: { max: number; waitMs: number }, first: Message | undefined) => Promise<Message[]>,
  waitMs: number,
): Promise<Message[]> {
  const taken: Message[] = [];
  let bytes = 0;
  for (;;) {
    const step = stepWithin(max - taken.length, bytes);
    if (step < 1) return taken;
    const options = { max: step, waitMs: taken.length === 0 ? waitMs : 0 };
    const messages = await call(options, taken[0]).catch((error: unknown) => {
      // Stopped or dropped meanwhile: what was handed out before is still the caller's.
      if (taken.length > 0) return [];
      throw error;
    });
    taken.push(...messages);
    for (const message of messages) bytes += bytesInAnswer(message);
    if (messages.length === 0) return taken;
  }
}

/** How many more messages fit into an answer even if each is as large as a message may be. */
function stepWithin(wanted: number, bytesSoFar: number): number {
  const room = Math.floor((limits.responsePayloadBytes - bytesSoFar) / queueLimits.payloadBytesMax);
  return Math.min(wanted, room);
}
