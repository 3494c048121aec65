/**
 * Consumers and producers of a session in another process, after JMS: messages come to a consumer ahead of its calls, in a
 * pipeline, and a producer does not wait for the answer to each message. `docs/decisions/pipelining.md` has the reasons.
 */

import type { Message, NewMessage } from './message.ts';
import type { CommitResult, DequeueOptions, ReturnOptions, Session } from './session.ts';

/**
 * When a message that the consumer was given is consumed.
 *
 * - `auto`: once `receive` has returned it, or the listener has returned. The acknowledgement leaves in the same turn of the
 *   event loop; messages whose acknowledgement is lost with the connection are delivered again.
 * - `dups-ok`: the same, but acknowledged several at a time, so that more of them are delivered again after a failure.
 * - `client`: with `acknowledge()`, which covers all that this consumer was given.
 * - `transacted`: with the session's `commit()`; its `rollback()` delivers them again.
 */
export type AckMode = 'auto' | 'client' | 'dups-ok' | 'transacted';

export interface ConsumerOptions {
  /** Name of the subscriber: required for a topic, refused for a queue. */
  subscriber?: string;
  /** Default `auto`. */
  ackMode?: AckMode;
  /**
   * Messages that may be on their way to the consumer or wait in its process, 1 to 10,000; default 10, and 1 switches the
   * pipeline off. They are in the destination's order when they leave the instance: what arrives there later, however urgent,
   * comes after them. Where each delivery is counted (`attemptsCounted`) it is 1.
   */
  messagesMaximum?: number;
  /**
   * Default false: each `receive` is a round trip. True: from the first `receive` on the pipeline is filled as for a listener.
   * Ignored, for the rest of the session, if that first `receive` is part of a branch of a distributed transaction or the
   * session has several consumers by then; afterwards either of these fails with `PREFETCH_ACTIVE`.
   */
  prefetch?: boolean;
  /**
   * Called with one message after the other; the next one comes when it has returned or resolved. If it throws, in the modes
   * `auto` and `dups-ok`, its message goes back with the error: it waits for its delay while others pass it, and moves to the
   * exception queue when its attempts are used up. `RejectMessage` and `RetryLater` choose otherwise.
   */
  listener?: (message: Message) => void | Promise<void>;
  /**
   * Called with the error that a listener throws and its message, and with the reason why its consumer ended
   * (`CONSUMER_STALLED`, `INSTANCE_UNREACHABLE`, …). Default: lines on standard error, at most ten in ten seconds.
   */
  onError?: (error: unknown, message?: Message) => void;
  /**
   * Default true: the pipeline holds as many messages as the consumer takes in about 100 ms, at least 10, even if
   * `messagesMaximum` allows more, so that a slow consumer keeps no messages from others. False: the pipeline is filled up to
   * `messagesMaximum`.
   */
  fair?: boolean;
  /**
   * Visibility timeout: 10 ms to 7 days, in ms, default 30,000. A consumer that holds messages and takes or acknowledges none for
   * this long ends with `CONSUMER_STALLED`, and its messages return to the queue.
   */
  holdMs?: number;
}

export interface ReceiveMessageOptions {
  /** How long to wait for a message, ms; default: 24 hours. */
  waitMs?: number;
  /** Ends the wait: the call then resolves without a message. */
  signal?: AbortSignal;
}

/** A consumer is used by one caller at a time, as its session is. */
export interface Consumer {
  /** Whether messages come ahead of the calls. Undefined until the first `receive` has decided it. */
  readonly prefetching: boolean | undefined;
  /** Resolves with the next message, or without one after `waitMs`. Rejects with `TX_NOT_COMMITTED` as a dequeue does. */
  receive(options?: ReceiveMessageOptions): Promise<Message | undefined>;
  /** Resolves with the next message if one is ready. */
  receiveNoWait(): Promise<Message | undefined>;
  /** Waits for a first message, then resolves with up to `max` of the ready ones. Default `max`: `messagesMaximum`. */
  receiveBatch(options?: ReceiveMessageOptions & { max?: number }): Promise<Message[]>;
  /**
   * In mode `client`: consumes all messages that were received; durable when it resolves. Rejects with `RECEIPT_STALE` if the
   * connection was lost since: they are delivered again.
   */
  acknowledge(): Promise<void>;
  /** Returns all received messages that are not acknowledged, as `options` says; delivery restarts with the oldest that is ready. */
  recover(options?: ReturnOptions): Promise<void>;
  /** Returns all messages that are not acknowledged. Those that the application has not been given do not count as delivered. */
  close(): Promise<void>;
}

export interface ProducerOptions {
  /**
   * One-way sends: up to `windowMessages` messages, 1 to 10,000, leave without an answer each; the last one of a window waits
   * for the answer to all. The first one over a connection waits for its own: the session may be refused. Default: each send is
   * answered.
   */
  oneWay?: { windowMessages: number };
  /**
   * How long a send waits for room in a queue that has reached its quota (`messagesMax`, or `cacheBytesMax` in bytes), ms;
   * default 0. After this time, with 0 at once, it fails with `ENQUEUE_RATE_TOO_HIGH` or `BACKLOG_FULL`.
   */
  blockMs?: number;
}

/** Sends to one queue or topic with immediate visibility. Messages of one producer keep their order. */
export interface Producer {
  /**
   * Resolves when the message is in the queue; a one-way send resolves when the message may leave. A later `send`, `flush` or
   * `close` reports the failure of a one-way send. Messages behind a refused one in its window are not enqueued.
   */
  send(message: NewMessage): Promise<void>;
  /** Resolves when all that was sent is in the queue. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface ClientSessionOptions {
  /**
   * Messages that may arrive with a commit, ahead of the next dequeues, 0 (the default) to 10,000. They come from the queue and
   * subscriber of the session's first dequeue, while no other call waits for them: as many as one transaction took, or up to 64
   * if transactions are small. A dequeue that finds prefetched messages takes up to `max` of them, without a round trip.
   * Prefetched messages are held like dequeued ones: other sessions do not find them, and more urgent ones that are enqueued
   * later come after them. Those that the session does not take within a second, or has not taken at its rollback or close,
   * return in order and do not count as delivered; those that were on a lost connection count.
   *
   * For sharded queues and topics whose visibility is `commit` and whose attempts are counted on return; on others, in a branch of a distributed
   * transaction and in a session that has a consumer by then, each dequeue is a round trip. Once the session prefetches, starting
   * a branch and opening a consumer fail with `PREFETCH_ACTIVE`.
   */
  prefetch?: number;
}

/** A session of a client: it can do what any session does, and has consumers and producers. */
export interface ClientSession extends Session {
  /** Rejects with `QUEUE_NOT_FOUND`, `SUBSCRIBER_NOT_FOUND`, `CONSUMER_UNSUPPORTED`, `PREFETCH_ACTIVE`, `DEQUEUE_STOPPED`. */
  openConsumer(queue: string, options?: ConsumerOptions): Promise<Consumer>;
  openProducer(queue: string, options?: ProducerOptions): Producer;
  /**
   * `commit` and the `dequeue` that follows it in one round trip. If the commit is refused it rejects with its error, and
   * nothing is dequeued.
   */
  commitAndDequeue(
    queue: string,
    options?: DequeueOptions,
  ): Promise<{ committed: CommitResult; messages: Message[] }>;
}
