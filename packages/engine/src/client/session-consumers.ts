/**
 * The consumers of one remote session, and the messages that it prefetches for its own dequeues. As in JMS, the first receive or
 * dequeue decides whether the session prefetches: not if it has another consumer by then, or works in a branch of a distributed
 * transaction. Once it prefetches, both are refused.
 */
import type { ConsumerOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import { FailureLog } from '../model/failure-log.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { operations } from '../wire/protocol.ts';
import type { TransactedPart } from './consumer-stream.ts';
import { type ConsumerHost, type ConsumerSession, RemoteConsumer } from './remote-consumer.ts';
import { SessionPrefetch } from './session-prefetch.ts';

export class SessionConsumers {
  readonly #session: ConsumerSession;
  readonly #host: ConsumerHost;
  readonly #consumers = new Set<RemoteConsumer>();
  /** Most messages that the session may have ahead of its dequeues; 0: none. */
  readonly #prefetchMessages: number;
  #prefetch: SessionPrefetch | undefined;
  #mode: 'undecided' | 'on' | 'off' = 'undecided';
  /** Why a consumer has ended that had delivered messages to the open transaction. */
  #transactedLoss: { error: unknown } | undefined;

  constructor(session: ConsumerSession, prefetchMessages: number) {
    this.#session = session;
    this.#prefetchMessages = prefetchMessages;
    this.#host = {
      session,
      decidePrefetch: (isWanted) => this.#decide(isWanted && this.#consumers.size === 1) && isWanted,
      onTransactedLost: (error) => this.#onTransactedLost(error),
      onClosed: (consumer) => this.#consumers.delete(consumer),
      logFailures: (queue) => new FailureLog(queue, session.attachment.link.ports.clock).add,
    };
  }

  async open(queue: string, options: ConsumerOptions): Promise<RemoteConsumer> {
    const isPrefetching = this.#consumers.size > 0 || this.#prefetch !== undefined;
    if (this.#mode === 'on' && isPrefetching) throw new QueueError('PREFETCH_ACTIVE');
    const { consumersPerSessionMax } = limits;
    if (this.#consumers.size >= consumersPerSessionMax)
      throw new QueueError('CONSUMERS_FULL', { details: { consumersPerSessionMax } });
    const consumer = new RemoteConsumer(this.#host, queue, options);
    this.#consumers.add(consumer);
    try {
      await consumer.open();
    } catch (error) {
      this.#consumers.delete(consumer);
      throw error;
    }
    return consumer;
  }

  #decide(isPossible: boolean): boolean {
    if (this.#mode === 'undecided') this.#mode = isPossible ? 'on' : 'off';
    return this.#mode === 'on';
  }

  /** The prefetch that a dequeue takes its messages from; undefined if the session does not prefetch for it. */
  prefetchOf(queue: string, subscriber: string | undefined): SessionPrefetch | undefined {
    if (this.#prefetchMessages === 0 || this.#mode === 'off') return undefined;
    const prefetch = this.#prefetch ?? this.#beginPrefetch(queue, subscriber);
    return prefetch?.queue === queue && prefetch.subscriber === subscriber ? prefetch : undefined;
  }

  #beginPrefetch(queue: string, subscriber: string | undefined): SessionPrefetch | undefined {
    const isPossible = this.#mode === 'undecided' && this.#consumers.size === 0 && !this.#session.isInBranch;
    if (!isPossible) {
      this.#decide(false);
      return undefined;
    }
    this.#mode = 'on';
    const { attachment } = this.#session;
    this.#prefetch = new SessionPrefetch(
      {
        attachment,
        attach: () => this.#session.attach(),
        onTransacted: () => this.#session.onTransacted(),
        onTransactedLost: (error) => this.#onTransactedLost(error),
        onPrefetchRefused: ({ code }) => {
          this.#prefetch = undefined;
          this.#mode = code === 'CONSUMER_UNSUPPORTED' ? 'off' : 'undecided';
        },
      },
      { queue, subscriber, messagesMaximum: this.#prefetchMessages },
    );
    return this.#prefetch;
  }

  /** Throws `PREFETCH_ACTIVE`. */
  assertMayStartBranch(): void {
    if (this.#mode === 'on') throw new QueueError('PREFETCH_ACTIVE');
  }

  /** Ends the wait of a dequeue. */
  cancelWait(): void {
    this.#prefetch?.cancelWait();
  }

  #onTransactedLost(error: unknown): void {
    this.#transactedLoss ??= { error };
  }

  /** Set if the instance has ended a consumer that had delivered messages to the open transaction, which can then not be committed. */
  get transactedLoss(): { error: unknown } | undefined {
    return this.#transactedLoss;
  }

  #transactedParts(): TransactedPart[] {
    const parts: TransactedPart[] = [];
    for (const consumer of this.#consumers) if (consumer.ackMode === 'transacted') parts.push(consumer);
    if (this.#prefetch !== undefined) parts.push(this.#prefetch);
    return parts;
  }

  /** Writes what the commit consumes, in front of its other operations. */
  writeConsumed(writer: FrameWriter): void {
    const consumed = this.#transactedParts().flatMap(({ toCommit }) => toCommit ?? []);
    if (consumed.length === 0) return;
    writer.u8(operations.consumeDelivered);
    writer.text('');
    writer.u32(consumed.length);
    writer.u32(consumed.length * 8);
    for (const { consumer, messages } of consumed) {
      writer.u32(consumer);
      writer.u32(messages);
    }
  }

  /** The commit was sent. */
  onCommitSent(): void {
    for (const part of this.#transactedParts()) part.onCommitSent();
  }

  /** The transaction was rolled back. */
  async recoverTransacted(how?: ValidReturn): Promise<void> {
    this.#transactedLoss = undefined;
    await Promise.all(this.#transactedParts().map((part) => part.recover(how)));
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
    await this.#prefetch?.close();
  }
}
