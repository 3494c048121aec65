/** A session's calls on queues with immediate visibility: each is a transaction of its own beside that of the session. */

import { QueueError } from '../api/errors.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { DequeueOptions } from '../api/session.ts';
import type { SessionNumber } from '../model/ids.ts';
import type { RecordRun } from '../model/message-record.ts';
import type { QueueRow } from '../model/queue-row.ts';
import {
  type LazyCommitResult,
  type SessionGuard,
  validateMessage,
  validateVisibility,
} from '../model/session-calls.ts';
import type {
  ImmediateCalls,
  MaybeLater,
  SendContent,
  SendOptions,
  ValidDequeueOptions,
} from '../queues/queue-engine.ts';
import { type FoundQueue, findForDequeue, findForEnqueue, type SessionContext } from './served-queues.ts';

/** The session itself. */
export interface ImmediateSession {
  readonly sessionNumber: SessionNumber;
  readonly guard: SessionGuard;
  readonly context: SessionContext;
  validateDequeue(options: DequeueOptions): ValidDequeueOptions;
}

export class SessionImmediateCalls {
  readonly #session: ImmediateSession;

  constructor(session: ImmediateSession) {
    this.#session = session;
  }

  enqueue(queue: string, messages: readonly NewMessage[]): MaybeLater<LazyCommitResult> {
    const { row, immediate } = this.#findForEnqueueWhenFree(queue);
    for (const message of messages) validateMessage(row, message);
    return this.#busyUntil(immediate.enqueue(row, this.#session.sessionNumber, messages));
  }

  /** The same for messages that `InstanceSession.enqueueRecords` would take. */
  enqueueRecords(queue: string, records: RecordRun): MaybeLater<LazyCommitResult> {
    const { row, immediate } = this.#findForEnqueueWhenFree(queue);
    return this.#busyUntil(immediate.enqueueRecords(row, this.#session.sessionNumber, records));
  }

  /** Enqueues beside whatever call is under way; waits for room if it may. */
  send(
    queue: string,
    content: SendContent,
    { blockMs, signal }: Pick<SendOptions, 'blockMs' | 'signal'>,
  ): MaybeLater<LazyCommitResult> {
    const { guard, context, sessionNumber } = this.#session;
    guard.assertOpen();
    const { row, immediate } = withImmediate(findForEnqueue(context, queue));
    if (Array.isArray(content)) for (const message of content) validateMessage(row, message);
    const assertTakesMessages = () => {
      if (findForEnqueue(context, queue).row.queueId !== row.queueId)
        throw new QueueError('QUEUE_DROPPED', { details: { queue } });
    };
    return immediate.send(row, sessionNumber, content, { blockMs, signal, assertTakesMessages });
  }

  dequeue(queue: string, options: DequeueOptions): Promise<Message[]> {
    const { guard, context, sessionNumber } = this.#session;
    const validated = this.#session.validateDequeue(options);
    const { row, immediate } = withImmediate(findForDequeue(context, queue, options.subscriber));
    guard.countCall();
    return guard.run(immediate.dequeue(row, sessionNumber, validated));
  }

  #busyUntil<T>(call: MaybeLater<T>): MaybeLater<T> {
    return call instanceof Promise ? this.#session.guard.run(call) : call;
  }

  #findForEnqueueWhenFree(queue: string): { row: QueueRow; immediate: ImmediateCalls } {
    const { guard, context } = this.#session;
    guard.assertFree();
    guard.countCall();
    return withImmediate(findForEnqueue(context, queue));
  }
}

/** Throws `VISIBILITY_MISMATCH`. */
function withImmediate({ row, engine }: FoundQueue): { row: QueueRow; immediate: ImmediateCalls } {
  validateVisibility(row, 'immediate');
  if (engine.immediate === undefined) throw new QueueError('VISIBILITY_MISMATCH');
  return { row, immediate: engine.immediate };
}
