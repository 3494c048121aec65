/**
 * Messages of one queue that a remote session has received ahead of its dequeues. The instance holds them in a pipeline, in the
 * order of their delivery and outside the session's transaction. A dequeue that finds messages here needs no round trip; the
 * commit says how many of them it consumes.
 *
 * A dequeue that finds none here is a round trip like any other: it waits, and gets at most what it asks for. More messages are
 * requested together with a commit, so that they are on their way while the commit is written. Such a request gets only messages
 * that are ready and that no other call waits for, and no more than the session takes in about `pipelineTargetMs`: those of one
 * transaction, or up to `prefetchWindowMax` where transactions are small.
 *
 * Messages that the session does not take within `prefetchIdleMs`, or has not taken at a rollback, return to the queue and do not
 * count as delivered. When the connection is lost the instance cannot know which were taken, so all count.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { RequestNumber } from '../model/ids.ts';
import { PipelineWindow, payloadBytesOf } from '../model/pipeline-window.ts';
import type { Timer } from '../model/ports.ts';
import { consumerModes } from '../wire/protocol.ts';
import type { ConsumerSettings } from './consumer-settings.ts';
import { ConsumerStream, type TransactedPart } from './consumer-stream.ts';
import type { DeliveryRequest } from './delivery-request.ts';
import { MessageBuffer } from './message-buffer.ts';
import { ConnectionLost } from './pending-requests.ts';
import type { SessionAttachment } from './session-attachment.ts';

/**
 * Maximum number of consecutive commits without a request. Skipping keeps fruitless requests rare if consumers are faster than
 * producers.
 */
const skippedCommitsMax = 15;

/** The session, as its prefetch needs it. */
export interface PrefetchSession {
  readonly attachment: SessionAttachment;
  /** Opens the session on the current connection. Throws `INSTANCE_UNREACHABLE`, `TX_NOT_COMMITTED`. */
  attach(): Promise<void>;
  /** Messages that its transaction is to consume were given to the application. */
  onTransacted(): void;
  /** The instance has returned such messages on its own. */
  onTransactedLost(error: unknown): void;
  /** The instance refuses to deliver ahead from this queue, for now or for good. */
  onPrefetchRefused(error: QueueError): void;
}

export interface PrefetchOptions {
  queue: string;
  subscriber: string | undefined;
  /** Most messages that may be ahead of the dequeues. */
  messagesMaximum: number;
}

/** The dequeue that a request is for. */
export interface PrefetchedDequeue {
  /** True once it must stop waiting, because the session closes. */
  isEnded(): boolean;
  /** The same dequeue without a pipeline. */
  plain(): Promise<Message[]>;
}

export class SessionPrefetch implements TransactedPart {
  readonly queue: string;
  readonly subscriber: string | undefined;
  readonly #session: PrefetchSession;
  readonly #settings: ConsumerSettings;
  readonly #window: PipelineWindow;
  /** Set while the consumer is open at the instance. */
  #stream: ConsumerStream | undefined;
  readonly #buffer = new MessageBuffer();
  /** Messages of the open transaction that the instance has in the pipeline, in front of those in the buffer. */
  #taken = 0;
  #refilling: Promise<void> | undefined;
  /** Raised when the pipeline is emptied. Messages of an earlier request have been returned already, and are dropped. */
  #generation = 0;
  /** The `max` of the last dequeue. */
  #lastMax = 1;
  /** The last request was filled completely, so more messages may be ready. */
  #isMoreLikely = false;
  /** Commits without a request behind them: twice as many after each one that found nothing. */
  #commitsToSkip = 0;
  #skippedLast = 0;
  #lastTakenAtMs = 0;
  #idleTimer: Timer | undefined;

  constructor(session: PrefetchSession, { queue, subscriber, messagesMaximum }: PrefetchOptions) {
    this.#session = session;
    this.queue = queue;
    this.subscriber = subscriber;
    const mode = consumerModes.session;
    // No visibility timeout: like all dequeued messages, they are held as long as the transaction is open.
    this.#settings = { queue, subscriber, messagesMaximum, mode, holdMs: limits.holdMsMax };
    const { clock } = session.attachment.link.ports;
    this.#window = new PipelineWindow({ messagesMaximum, fair: true, clock });
  }

  /** Number of messages that the open transaction has taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes up to `max` of the buffered messages; undefined if there are none. */
  take(max: number): Message[] | undefined {
    this.#lastMax = max;
    const messages = this.#buffer.take(max);
    const count = messages.length;
    if (count === 0) return undefined;
    this.#window.onTaken(count);
    this.#lastTakenAtMs = this.#session.attachment.link.ports.clock.monotonicMs();
    this.#onGiven(count);
    return messages;
  }

  #onGiven(count: number): void {
    if (count === 0) return;
    this.#taken += count;
    this.#session.onTransacted();
  }

  /**
   * Requests messages from the instance, after `take` has found none. If the instance refuses to deliver ahead from this queue,
   * `dequeue.plain` is called, which may get messages all the same. Rejects as a plain dequeue does.
   */
  request(request: DeliveryRequest, dequeue: PrefetchedDequeue): Promise<Message[]> {
    const stream = this.#stream;
    const isOpen = stream !== undefined && this.#session.attachment.isCurrent;
    return isOpen && this.#refilling === undefined
      ? this.#pull(stream, request, dequeue)
      : this.#requestLater(request, dequeue);
  }

  async #requestLater(request: DeliveryRequest, dequeue: PrefetchedDequeue): Promise<Message[]> {
    for (;;) {
      const stream = await this.#ensureOpen();
      if (stream === undefined) return await dequeue.plain();
      await this.#refilling;
      const messages = this.take(request.max);
      if (messages !== undefined) return messages;
      // Otherwise the connection was lost meanwhile.
      if (this.#stream === stream) return await this.#pull(stream, request, dequeue);
    }
  }

  async #pull(
    stream: ConsumerStream,
    request: DeliveryRequest,
    dequeue: PrefetchedDequeue,
  ): Promise<Message[]> {
    const { max, waitMs, signal } = request;
    const messages = await stream.pull(max, dequeue.isEnded() || signal?.aborted ? 0 : waitMs);
    this.#isMoreLikely = messages.length === max;
    this.#onGiven(messages.length);
    return messages;
  }

  async #ensureOpen(): Promise<ConsumerStream | undefined> {
    await this.#session.attach();
    if (this.#stream !== undefined) return this.#stream;
    const stream = new ConsumerStream(this.#session.attachment);
    try {
      await stream.open(this.#settings, {
        onMessages: () => undefined, // it pulls
        onEnded: (error) => this.#onEnded(stream, error),
      });
    } catch (error) {
      if (error instanceof ConnectionLost || !(error instanceof QueueError)) throw error;
      this.#session.onPrefetchRefused(error);
      return undefined;
    }
    this.#stream = stream;
    return stream;
  }

  #onEnded(stream: ConsumerStream, error: unknown): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    // A lost connection ends the transaction by itself: the next call learns of it.
    if (this.#taken > 0 && !(error instanceof ConnectionLost)) this.#session.onTransactedLost(error);
    this.#empty();
  }

  /** Forgets what the instance has returned. */
  #empty(): void {
    this.#generation += 1;
    this.#taken = 0;
    this.#buffer.clear();
    this.#window.reset();
    this.#isMoreLikely = false;
  }

  cancelWait(): void {
    this.#stream?.cancelPull();
  }

  get toCommit(): { consumer: RequestNumber; messages: number } | undefined {
    if (this.#taken === 0 || this.#stream === undefined) return undefined;
    return { consumer: this.#stream.number, messages: this.#taken };
  }

  /** The commit was sent. Requests behind it what the next transaction is likely to take. */
  onCommitSent(): void {
    this.#taken = 0;
    const stream = this.#stream;
    if (stream === undefined || !this.#isMoreLikely || this.#refilling !== undefined) return;
    const buffered = this.#buffer.size;
    const target = Math.max(this.#lastMax, Math.min(this.#window.size, limits.prefetchWindowMax));
    if (buffered >= Math.max(this.#lastMax, target / 2) || this.#window.room === 0) return;
    const room = this.#settings.messagesMaximum - buffered;
    const max = Math.min(target - buffered, room);
    if (max <= 0) return;
    if (this.#commitsToSkip > 0) {
      this.#commitsToSkip -= 1;
      return;
    }
    this.#refilling = this.#refill(stream, max);
  }

  async #refill(stream: ConsumerStream, max: number): Promise<void> {
    const generation = this.#generation;
    try {
      const messages = await stream.pull(max, 0);
      if (generation !== this.#generation) return;
      this.#isMoreLikely = messages.length === max;
      if (messages.length === 0) {
        this.#skippedLast = Math.min(skippedCommitsMax, 2 * this.#skippedLast + 1);
        this.#commitsToSkip = this.#skippedLast;
        return;
      }
      this.#skippedLast = 0;
      this.#buffer.add(messages);
      this.#window.onSent(messages.length, payloadBytesOf(messages));
      this.#lastTakenAtMs = this.#session.attachment.link.ports.clock.monotonicMs();
      if (this.#idleTimer === undefined) this.#watchIdle(limits.prefetchIdleMs);
    } catch {
      this.#isMoreLikely = false; // the next dequeue asks again, and reports it
    } finally {
      this.#refilling = undefined;
    }
  }

  #watchIdle(ms: number): void {
    const { timers, clock } = this.#session.attachment.link.ports;
    this.#idleTimer = timers.after(Math.ceil(ms), () => {
      this.#idleTimer = undefined;
      if (this.#buffer.size === 0) return; // watched again with the next message
      const leftMs = this.#lastTakenAtMs + limits.prefetchIdleMs - clock.monotonicMs();
      if (leftMs > 0 || this.#refilling !== undefined) this.#watchIdle(Math.max(leftMs, 1));
      else this.#returnUnseen();
    });
  }

  #returnUnseen(): void {
    this.#buffer.clear();
    this.#window.reset();
    this.#stream?.returnUnseen(this.#taken).catch(() => undefined); // a lost connection returns them too
  }

  async recover(how: ValidReturn = {}): Promise<void> {
    const stream = this.#stream;
    const seen = this.#taken;
    this.#empty();
    if (stream === undefined) return;
    try {
      await stream.recover(seen, how);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error; // else the instance returns them by itself
    }
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    const seen = this.#taken;
    this.#stream = undefined;
    this.#empty();
    this.#idleTimer?.cancel();
    if (stream === undefined) return;
    try {
      await stream.close(seen);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }
}
