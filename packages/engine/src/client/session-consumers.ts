/**
 * The consumers of one remote session. As in JMS, the first receive decides for the whole session whether its consumer prefetches:
 * not if the session has another one or works in a branch of a distributed transaction by then. Once one does, both are refused.
 */
import type { ConsumerOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import type { FrameWriter } from '../wire/frame-writer.ts';
import { operations } from '../wire/protocol.ts';
import { type ConsumerHost, type ConsumerSession, RemoteConsumer } from './remote-consumer.ts';

export class SessionConsumers {
  readonly #host: ConsumerHost;
  readonly #consumers = new Set<RemoteConsumer>();
  #prefetch: 'undecided' | 'on' | 'off' = 'undecided';

  constructor(session: ConsumerSession) {
    this.#host = {
      session,
      decidePrefetch: (isWanted) => this.#decidePrefetch(isWanted),
      onClosed: (consumer) => this.#consumers.delete(consumer),
    };
  }

  async open(queue: string, options: ConsumerOptions): Promise<RemoteConsumer> {
    if (this.#prefetch === 'on' && this.#consumers.size > 0) throw new QueueError('PREFETCH_ACTIVE');
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

  #decidePrefetch(isWanted: boolean): boolean {
    if (this.#prefetch === 'undecided')
      this.#prefetch = isWanted && this.#consumers.size === 1 ? 'on' : 'off';
    return this.#prefetch === 'on' && isWanted;
  }

  /** Throws `PREFETCH_ACTIVE`. */
  assertMayStartBranch(): void {
    if (this.#prefetch === 'on') throw new QueueError('PREFETCH_ACTIVE');
  }

  /** Writes what the commit consumes, in front of its other operations. */
  writeConsumed(writer: FrameWriter): void {
    const consumed = [...this.#consumers].flatMap((consumer) => {
      const part = consumer.toCommit;
      if (part === undefined) return [];
      consumer.onCommitSent();
      return [part];
    });
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

  /** The transaction was rolled back: its consumers begin again with the oldest message that it had. */
  async recoverTransacted(): Promise<void> {
    const transacted = [...this.#consumers].filter(({ ackMode }) => ackMode === 'transacted');
    await Promise.all(transacted.map((consumer) => consumer.recover()));
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }
}
