/** Messages: as they are enqueued, as they are delivered, and as `browse` shows them. */

export interface NewMessage {
  payload: Uint8Array | string;
  correlationId?: string;
  /** Messages with the same key go to the same shard. */
  groupKey?: string;
  properties?: Record<string, string>;
  /** 0 (the default) to 9 (the most urgent); only for a queue with `priorities`. */
  priority?: number;
  /** Time until it can be dequeued, at most 400 days. Persistent sharded queues only. */
  delayMs?: number;
  /**
   * For a topic: names of the existing subscribers that get it (`SUBSCRIBER_NOT_FOUND`, unless the topic has
   * `temporarySubscribers`). Default: all subscribers, without temporary ones.
   */
  recipients?: string[];
}

/** A message whose payload is read in chunks while they are written, and is never in memory as a whole. */
export interface StreamedMessage extends Omit<NewMessage, 'payload'> {
  /** A `Readable`, or any other source of bytes. Up to 1 GiB. */
  payload: AsyncIterable<Uint8Array>;
  /** Length of the payload, if known: any other length is refused. */
  bytes?: number | undefined;
  /** Aborts the upload. */
  signal?: AbortSignal | undefined;
  /**
   * The key under which the transaction will be committed, if it has one (`CommitOptions`). A client of a whole cluster uploads
   * the payload to the instance that knows the keys, and refuses to commit under a key that the upload did not name. Others
   * need it at the commit only.
   */
  idempotencyKey?: string | undefined;
}

export interface Message {
  /** Unique within its queue and never reused. */
  id: string;
  /** Throws `PAYLOAD_STREAMED` if `streamed`, since it may be larger than memory; empty for such a browsed message. */
  payload: Buffer;
  payloadBytes: number;
  /** The payload is stored in chunks: read it with `payloadStream`. */
  streamed: boolean;
  /**
   * The payload, however it is stored, with at most two chunks in memory. It can be read until the message is consumed, so read
   * first and commit then. Fails with `PAYLOAD_GONE` after that, and with `STORAGE_CORRUPT`, before its end, if it is damaged.
   */
  payloadStream(): PayloadStream;
  correlationId?: string | undefined;
  groupKey?: string | undefined;
  properties?: Record<string, string> | undefined;
  recipients?: string[] | undefined;
  priority?: number | undefined;
  enqueuedAtMs: number;
  /**
   * Delivery attempt, from 1. At 1 no consumer has seen the message before. Exact where each delivery is counted
   * (`attemptsCounted`), and as long as the instance is open. Otherwise a message that may have been delivered before a restart has at least 2: after a clean close the
   * messages that were delivered and not consumed, after a crash all messages.
   */
  deliveryCount: number;
  /**
   * Of a received message: `acknowledge`, `release` and `extend` take it, from any session, as long as the hold lasts. It ends
   * with 132 random bits, so it cannot be guessed. Empty for a dequeued message, which its transaction consumes.
   */
  receipt: string;
}

/** A Node `Readable` of the payload's bytes, which can be iterated or piped. */
export interface PayloadStream extends NodeJS.ReadableStream {
  [Symbol.asyncIterator](): NodeJS.AsyncIterator<Buffer>;
  /** Stops reading. */
  destroy(error?: Error): this;
}

export interface BrowsedMessage extends Omit<Message, 'receipt'> {
  /**
   * `delayed`: it is not due yet, or was returned and waits for its retry delay. `processed`: it was consumed, or moved to the
   * exception queue; how often it was delivered is not kept (`deliveryCount` 0), nor is a streamed payload.
   */
  state: 'ready' | 'held' | 'delayed' | 'processed';
  /** When its delay or timed hold expires, epoch ms. A transaction's hold does not expire. */
  untilMs?: number;
}
