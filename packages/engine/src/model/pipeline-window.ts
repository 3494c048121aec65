/**
 * How many messages may be in one consumer's pipeline. A fair one holds what its consumer takes in about
 * `pipelineTargetMs`: its window doubles when a whole one was taken in less, and halves when that took more than twice as
 * long. So a fast consumer gets all that it may have within a few windows, and a slow one keeps few messages from others.
 */
import { limits } from '../api/limits.ts';
import type { Message } from '../api/message.ts';
import type { Clock } from './ports.ts';

export interface PipelineWindowOptions {
  messagesMaximum: number;
  fair: boolean;
  clock: Clock;
}

export class PipelineWindow {
  readonly #options: PipelineWindowOptions;
  readonly #least: number;
  #size: number;
  /** Messages that were sent and not taken. */
  #outstanding = 0;
  /** Batches that were sent and are not taken completely, the oldest first. */
  #sent: { messages: number; bytes: number }[] = [];
  #bytes = 0;
  /** A round ends when this many more messages are taken: its length decides about the window. Monotonic start, ms. */
  #roundMessages = 0;
  #roundStartedAtMs = 0;

  constructor(options: PipelineWindowOptions) {
    const { messagesMaximum, fair } = options;
    this.#options = options;
    this.#least = Math.min(messagesMaximum, fair ? limits.pipelineMessagesDefault : messagesMaximum);
    this.#size = this.#least;
  }

  /** Messages that a fair pipeline may hold now. */
  get size(): number {
    return this.#size;
  }

  /** How many more messages may be sent. */
  get room(): number {
    return this.#bytes >= limits.pipelineBytesMax ? 0 : Math.max(0, this.#size - this.#outstanding);
  }

  onSent(messages: number, bytes: number): void {
    // An empty pipeline says nothing about the consumer: it waited for messages.
    if (this.#outstanding === 0) this.#beginRound();
    this.#outstanding += messages;
    this.#sent.push({ messages, bytes });
    this.#bytes += bytes;
  }

  /** The consumer took the oldest messages. */
  onTaken(messages: number): void {
    this.#outstanding -= messages;
    for (let left = messages; left > 0; ) {
      const oldest = this.#sent[0]!;
      const taken = Math.min(left, oldest.messages);
      oldest.messages -= taken;
      left -= taken;
      if (oldest.messages > 0) break;
      this.#bytes -= oldest.bytes;
      this.#sent.shift();
    }
    this.#roundMessages -= messages;
    if (this.#roundMessages <= 0) this.#measure();
  }

  #measure(): void {
    const { messagesMaximum, clock } = this.#options;
    const ms = clock.monotonicMs() - this.#roundStartedAtMs;
    if (ms < limits.pipelineTargetMs) this.#size = Math.min(messagesMaximum, this.#size * 2);
    else if (ms > 2 * limits.pipelineTargetMs) this.#size = Math.max(this.#least, Math.ceil(this.#size / 2));
    this.#beginRound();
  }

  #beginRound(): void {
    this.#roundMessages = this.#size;
    this.#roundStartedAtMs = this.#options.clock.monotonicMs();
  }

  /** The pipeline was emptied: the consumer will not take the sent messages. */
  reset(): void {
    this.#outstanding = 0;
    this.#sent = [];
    this.#bytes = 0;
  }
}

/** Payload bytes that the messages hold in memory: one in chunks holds none. */
export function payloadBytesOf(messages: readonly Message[]): number {
  let bytes = 0;
  for (const message of messages) if (!message.streamed) bytes += message.payloadBytes;
  return bytes;
}
