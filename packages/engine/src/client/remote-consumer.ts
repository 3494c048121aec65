/**
 * A consumer of a remote session. Messages that came ahead of its calls are in `#buffer`, in the order in which they left the
 * instance. The instance keeps all messages that are not acknowledged, so this process can drop its copies at any time: after
 * `recover` or a lost connection they are delivered again.
 */

import type { AckMode, Consumer, ConsumerOptions, ReceiveMessageOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { DequeueOptions, ReturnOptions } from '../api/session.ts';
import { assertFields } from '../model/call-arguments.ts';
import { receiveBatchFields, receiveOneFields } from '../model/call-fields.ts';
import { returnOfThrown, validateReturn } from '../model/failed-attempts.ts';
import type { RequestNumber } from '../model/ids.ts';
import { validateMaxAndWait } from '../model/session-calls.ts';
import { type ConsumerSettings, validateConsumer } from './consumer-settings.ts';
import { ConsumerStream, type TransactedPart } from './consumer-stream.ts';
import { MessageBuffer } from './message-buffer.ts';
import { ConnectionLost } from './pending-requests.ts';
import type { SessionAttachment } from './session-attachment.ts';

/** The session, as its consumers need it. */
export interface ConsumerSession {
  readonly attachment: SessionAttachment;
  /** Whether its work belongs to a branch of a distributed transaction. */
  readonly isInBranch: boolean;
  /** Opens the session on the current connection. Throws `INSTANCE_UNREACHABLE`, `TX_NOT_COMMITTED`. */
  attach(): Promise<void>;
  /** The application was given a message that the session's transaction is to consume. */
  onTransacted(): void;
  dequeue(queue: string, options: DequeueOptions): Promise<Message[]>;
}

export interface ConsumerHost {
  readonly session: ConsumerSession;
  /** Whether the session's consumer may prefetch; the first call decides it. */
  decidePrefetch(isWanted: boolean): boolean;
  /** The instance has returned messages that the session's transaction is to consume. */
  onTransactedLost(error: unknown): void;
  onClosed(consumer: RemoteConsumer): void;
  /** What a consumer of this queue without `onError` does with errors. */
  logFailures(queue: string): NonNullable<ConsumerOptions['onError']>;
}

export class RemoteConsumer implements Consumer, TransactedPart {
  readonly ackMode: AckMode;
  readonly #host: ConsumerHost;
  readonly #settings: ConsumerSettings;
  readonly #isPrefetchWanted: boolean;
  readonly #listener: ConsumerOptions['listener'];
  readonly #onError: NonNullable<ConsumerOptions['onError']>;
  /** Set while the consumer is open at the instance. */
  #stream: ConsumerStream | undefined;
  #prefetching: boolean | undefined;
  readonly #buffer = new MessageBuffer();
  /** Number of messages that the application was given and that are not acknowledged. */
  #unacknowledged = 0;
  /** Set if such messages were lost with a connection: they are delivered again. */
  #hasLostMessages = false;
  /** A recovery is under way: arriving messages were already returned to the queue, and are dropped. */
  #isRecovering = false;
  #isReceiving = false;
  #isDispatching = false;
  #closing: Promise<void> | undefined;
  /** Why it ended; reported by its next call. */
  #failure: { error: unknown } | undefined;
  /** Ends the wait for a pushed message. */
  #onChange: (() => void) | undefined;

  constructor(host: ConsumerHost, queue: string, options: ConsumerOptions) {
    const { settings, ackMode, isPrefetchWanted } = validateConsumer(queue, options);
    this.#host = host;
    this.ackMode = ackMode;
    this.#settings = settings;
    this.#isPrefetchWanted = isPrefetchWanted;
    this.#listener = options.listener;
    this.#onError = options.onError ?? host.logFailures(queue);
    if (this.#listener !== undefined) this.#prefetching = true;
  }

  get prefetching(): boolean | undefined {
    return this.#prefetching;
  }

  get isListening(): boolean {
    return this.#listener !== undefined;
  }

  /** Opens it at the instance; a listener gets messages from then on. */
  async open(): Promise<void> {
    await this.#ensureOpen();
  }

  async #ensureOpen(): Promise<ConsumerStream> {
    this.#assertUsable();
    if (this.#stream !== undefined) return this.#stream;
    await this.#host.session.attach();
    const stream = new ConsumerStream(this.#host.session.attachment);
    this.#stream = stream;
    try {
      await stream.open(this.#settings, {
        onMessages: (messages) => this.#onMessages(messages),
        onEnded: (error) => this.#onEnded(stream, error),
      });
    } catch (error) {
      if (this.#stream === stream) this.#stream = undefined;
      throw error;
    }
    if (this.#prefetching === true) this.#giveCredit(stream);
    return stream;
  }

  #giveCredit(stream: ConsumerStream): void {
    stream.add({ acknowledged: 0, credit: this.#settings.messagesMaximum });
  }

  #assertUsable(): void {
    if (this.#closing !== undefined) throw new QueueError('CONSUMER_CLOSED');
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #onMessages(messages: Message[]): void {
    if (this.#isRecovering || this.#closing !== undefined) return;
    this.#buffer.add(messages);
    this.#onChange?.();
    if (this.#listener !== undefined) void this.#dispatch(this.#listener);
  }

  #onEnded(stream: ConsumerStream, error: unknown): void {
    if (this.#stream !== stream || this.#closing !== undefined) return;
    this.#stream = undefined;
    this.#buffer.clear();
    const hasLost = this.#unacknowledged > 0;
    if (hasLost) this.#hasLostMessages = true;
    this.#unacknowledged = 0;
    if (!(error instanceof ConnectionLost)) {
      if (hasLost && this.ackMode === 'transacted') this.#host.onTransactedLost(error);
      this.#failure = { error };
      this.#host.onClosed(this);
      stream.close(0).catch(() => undefined); // the instance has returned its messages
    }
    this.#onChange?.();
    if (this.#listener === undefined) return;
    if (error instanceof ConnectionLost) this.open().catch(this.#onError);
    else this.#onError(error);
  }

  async #dispatch(listener: NonNullable<ConsumerOptions['listener']>): Promise<void> {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    try {
      for (let message = this.#shift(); message !== undefined; message = this.#shift()) {
        const stream = this.#stream;
        this.#unacknowledged += 1;
        this.#onDelivered(1);
        try {
          const pending = listener(message);
          if (pending !== undefined) await pending;
        } catch (error) {
          this.#onError(error, message);
          if (this.#acknowledgesItself && this.#stream === stream && this.#closing === undefined)
            await this.#returnFailed(error);
          continue;
        }
        if (this.#stream === stream) this.#acknowledgeDelivered();
      }
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isDispatching = false;
    }
  }

  /** The last message failed; those before it that are not acknowledged yet did not. */
  async #returnFailed(error: unknown): Promise<void> {
    this.#stream?.add({ acknowledged: this.#unacknowledged - 1, credit: 0 });
    this.#unacknowledged = 1;
    await this.recover(returnOfThrown(error));
  }

  #shift(): Message | undefined {
    return this.#closing === undefined ? this.#buffer.shift() : undefined;
  }

  get #acknowledgesItself(): boolean {
    return this.ackMode === 'auto' || this.ackMode === 'dups-ok';
  }

  #onDelivered(count: number): void {
    if (this.#prefetching === true) this.#stream?.add({ acknowledged: 0, credit: count });
    if (this.ackMode === 'transacted') this.#host.session.onTransacted();
  }

  /**
   * Acknowledges delivered messages if the mode leaves that to the consumer. With `dups-ok` it waits until half of a pipeline is
   * unacknowledged or the buffer is empty.
   */
  #acknowledgeDelivered(): void {
    if (!this.#acknowledgesItself) return;
    const isLazy = this.ackMode === 'dups-ok' && this.#buffer.size > 0;
    if (isLazy && this.#unacknowledged < this.#settings.messagesMaximum / 2) return;
    this.#stream?.add({ acknowledged: this.#unacknowledged, credit: 0 });
    this.#unacknowledged = 0;
  }

  async receive(options: ReceiveMessageOptions = {}): Promise<Message | undefined> {
    assertFields(options, receiveOneFields);
    const [message] = await this.receiveBatch({ ...options, max: 1 });
    return message;
  }

  receiveNoWait(): Promise<Message | undefined> {
    return this.receive({ waitMs: 0 });
  }

  async receiveBatch(options: ReceiveMessageOptions & { max?: number } = {}): Promise<Message[]> {
    assertFields(options, receiveBatchFields);
    const { max = this.#settings.messagesMaximum, waitMs = limits.waitMsMax, signal } = options;
    validateMaxAndWait(max, waitMs);
    this.#assertUsable();
    if (this.#listener !== undefined)
      throw new QueueError('OPTIONS_INVALID', { message: 'A consumer with a listener cannot receive' });
    if (this.#isReceiving) throw new QueueError('SESSION_BUSY');
    this.#isReceiving = true;
    try {
      if (this.#host.session.isInBranch) return await this.#receiveInBranch(max, waitMs, signal);
      return await this.#receiveSome(max, waitMs, signal);
    } finally {
      this.#isReceiving = false;
    }
  }

  /** The branch consumes what is received in it, whatever the mode. */
  async #receiveInBranch(max: number, waitMs: number, signal: AbortSignal | undefined): Promise<Message[]> {
    this.#prefetching = this.#host.decidePrefetch(false);
    const { queue, subscriber } = this.#settings;
    return await this.#host.session.dequeue(queue, {
      max,
      waitMs,
      ...(subscriber !== undefined && { subscriber }),
      ...(signal !== undefined && { signal }),
    });
  }

  /** If the connection is lost, waits again over the next one. */
  async #receiveSome(max: number, waitMs: number, signal: AbortSignal | undefined): Promise<Message[]> {
    const { clock } = this.#host.session.attachment.link.ports;
    const untilMs = clock.monotonicMs() + waitMs;
    for (;;) {
      const stream = await this.#ensureOpen();
      this.#decidePrefetch(stream);
      const leftMs = Math.max(0, Math.ceil(untilMs - clock.monotonicMs()));
      try {
        const messages =
          this.#prefetching === true
            ? await this.#takePushed(stream, max, leftMs, signal)
            : await this.#pull(stream, max, leftMs, signal);
        if (messages !== undefined) return this.#deliver(messages);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
      }
      this.#assertUsable();
    }
  }

  #decidePrefetch(stream: ConsumerStream): void {
    if (this.#prefetching !== undefined) return;
    this.#prefetching = this.#host.decidePrefetch(this.#isPrefetchWanted);
    if (this.#prefetching) this.#giveCredit(stream);
  }

  #deliver(messages: Message[]): Message[] {
    if (messages.length === 0) return messages;
    this.#unacknowledged += messages.length;
    this.#onDelivered(messages.length);
    this.#acknowledgeDelivered();
    return messages;
  }

  /** Undefined if the connection was lost meanwhile. */
  async #takePushed(
    stream: ConsumerStream,
    max: number,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Message[] | undefined> {
    // Ready messages may be in flight; the answer arrives after them.
    if (this.#buffer.size === 0 && waitMs === 0) await stream.flushAndWait();
    else if (this.#buffer.size === 0) await this.#whenChanged(waitMs, signal);
    if (this.#stream !== stream) {
      if (this.#failure !== undefined) throw this.#failure.error;
      return undefined;
    }
    return this.#buffer.take(max);
  }

  /** Resolves when messages have come, the consumer has ended, or the wait has. */
  #whenChanged(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted || this.#closing !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#host.session.attachment.link.ports.timers.deadline(waitMs, () =>
        this.#onChange?.(),
      );
      const onAbort = () => this.#onChange?.();
      this.#onChange = () => {
        this.#onChange = undefined;
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  async #pull(
    stream: ConsumerStream,
    max: number,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Message[]> {
    const cancel = () => stream.cancelPull();
    const pulled = stream.pull(max, signal?.aborted ? 0 : waitMs);
    this.#onChange = cancel;
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await pulled;
    } finally {
      this.#onChange = undefined;
      signal?.removeEventListener('abort', cancel);
    }
  }

  get toCommit(): { consumer: RequestNumber; messages: number } | undefined {
    if (this.ackMode !== 'transacted' || this.#unacknowledged === 0 || this.#stream === undefined)
      return undefined;
    return { consumer: this.#stream.number, messages: this.#unacknowledged };
  }

  onCommitSent(): void {
    this.#unacknowledged = 0;
  }

  async acknowledge(): Promise<void> {
    this.#assertUsable();
    if (this.ackMode !== 'client')
      throw new QueueError('OPTIONS_INVALID', {
        message: 'acknowledge is only for a consumer with ackMode client',
      });
    const hasLost = this.#hasLostMessages;
    this.#hasLostMessages = false;
    if (hasLost) throw new QueueError('RECEIPT_STALE');
    const stream = this.#stream;
    if (stream === undefined || this.#unacknowledged === 0) return;
    stream.add({ acknowledged: this.#unacknowledged, credit: 0 });
    this.#unacknowledged = 0;
    try {
      await stream.flushAndWait();
    } catch (error) {
      if (error instanceof ConnectionLost) throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: error });
      throw error;
    }
  }

  async recover(options?: ReturnOptions): Promise<void> {
    const how = validateReturn(options);
    this.#assertUsable();
    const stream = this.#stream;
    if (stream === undefined) return;
    const seen = this.#unacknowledged;
    this.#unacknowledged = 0;
    this.#buffer.clear();
    this.#isRecovering = true;
    try {
      await stream.recover(seen, how);
    } catch (error) {
      if (error instanceof ConnectionLost) return; // the instance returns them by itself
      throw error;
    } finally {
      this.#isRecovering = false;
    }
    if (this.#prefetching === true && this.#stream === stream) this.#giveCredit(stream);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#host.onClosed(this);
    const stream = this.#stream;
    this.#buffer.clear();
    queueMicrotask(() => this.#onChange?.());
    if (stream === undefined) return;
    try {
      await stream.close(this.#unacknowledged);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }
}
