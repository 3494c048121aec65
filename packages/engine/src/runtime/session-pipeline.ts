/** The pipeline of one consumer of a session: its queue is found anew at each call, as it may have been stopped or dropped. */
import type { Message } from '../api/message.ts';
import type { ValidReturn } from '../model/failed-attempts.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { DeliveryPipeline, MaybeLater, QueueTransaction } from '../queues/queue-engine.ts';

export interface SessionPipelineOptions {
  pipeline: DeliveryPipeline;
  /** Throws `QUEUE_NOT_FOUND`, `DEQUEUE_STOPPED`, `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  find(): { row: QueueRow };
  subscriber: string | undefined;
  /** The session's transaction; begun if there is none. */
  transaction(): QueueTransaction;
}

export class SessionPipeline {
  readonly #options: SessionPipelineOptions;
  /** The queue's row when the pipeline was opened. */
  readonly row: QueueRow;

  constructor(options: SessionPipelineOptions) {
    this.#options = options;
    this.row = options.find().row;
  }

  /** Number of messages that are held. */
  get size(): number {
    return this.#options.pipeline.size;
  }

  /** Delivers more. An abort ends the wait, without messages. Throws what `find` does. */
  deliver(options: { max: number; waitMs: number; signal?: AbortSignal }): Promise<Message[]> {
    const { pipeline, find, subscriber } = this.#options;
    const { row } = find();
    return pipeline.deliver(row, subscriber === undefined ? options : { ...options, subscriber });
  }

  /** Stages the consumption of the first `count` messages, at most `size`, for the session's commit. */
  consumeInTransaction(count: number): void {
    const { pipeline, transaction } = this.#options;
    pipeline.consumeIn(transaction(), this.row, count);
  }

  /** Consumes the first `count` messages, at most `size`, outside the session's transaction. */
  consume(count: number): MaybeLater<void> {
    return this.#options.pipeline.consume(this.row, count);
  }

  /** Returns all messages; the first `seen` count as delivered. See `DeliveryPipeline`. */
  returnAll(seen: number, how?: ValidReturn): Promise<void> | undefined {
    return this.#options.pipeline.returnAll(seen, how);
  }

  /** Returns the messages behind the first `seen`, at most `size`; they do not count as delivered. */
  returnUnseen(seen: number): void {
    this.#options.pipeline.returnUnseen(seen);
  }
}
