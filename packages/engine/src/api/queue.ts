/** Queues and topics: their specification, and the information about one. Times are in milliseconds, sizes in bytes. */
import type { QueueErrorCode } from './errors.ts';
import type { GivenQueueSettings, QueueSettings } from './queue-settings.ts';

/** A new queue. The settings are described where they are declared. */
export interface QueueSpec extends GivenQueueSettings {
  name: string;
}

export interface DropQueueOptions {
  /** Default false. True: the exception queue is dropped even if it has messages, which are then deleted. */
  withExceptions?: boolean;
}

export interface QueueInfo extends QueueSettings {
  name: string;
  /** Bytes of its messages in the message cache of this instance. */
  cacheBytes: number;
  /** Name of the queue that receives messages that were rejected or reached `attemptsMax`; null until there is one. */
  exceptionQueue: string | null;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
  /**
   * Messages committed, not consumed and not held: on this instance for a sharded queue, in the whole file for an
   * unsharded one. For a topic, the longest backlog of its subscribers.
   */
  ready: number;
  held: number;
  /** Messages that are not due yet or wait for their retry delay. */
  delayed: number;
  /** Messages committed and consumed since the queue was created. */
  enqueued: number;
  consumed: number;
  /**
   * Messages forwarded from and to other instances since the queue was created; one that is returned counts again. At all
   * times enqueued + forwardedIn = ready + held + delayed + consumed + forwardedOut.
   */
  forwardedIn: number;
  forwardedOut: number;
  /** Messages that flow control refused since the instance opened: see `messagesMax`. */
  refused: number;
  /**
   * Messages of a nonpersistent queue that were in memory when the instance stopped before it was opened: exact after an
   * orderly close, else as of its last sample.
   */
  lost: number;
  /** In a list only: why the counts are unknown and shown as 0. Calls on the queue throw the same error. */
  fault?: { code: QueueErrorCode; message: string };
}
