/** A queue as the catalog stores it. */
import { QueueError } from '../api/errors.ts';
import type { QueueSettings } from '../api/queue-settings.ts';
import type { QueueId } from './ids.ts';

/** A queue to be created. */
export interface NewQueueRow extends QueueSettings {
  name: string;
}

export interface QueueRow extends NewQueueRow {
  queueId: QueueId;
  /** Queue for messages that were rejected or reached `attemptsMax`; null until there is one. */
  exceptionQueueId: QueueId | null;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
}

export function exceptionQueueName(queue: string): string {
  return `${queue}.exceptions`;
}

/** Of a queue that is to be dropped: throws `EXCEPTION_QUEUE_NOT_EMPTY` if its exception queue has messages. */
export function assertNoExceptions(
  queue: string,
  exceptions: string,
  { ready, held, delayed }: { ready: number; held: number; delayed: number },
): void {
  const messages = ready + held + delayed;
  if (messages === 0) return;
  throw exceptionsLeft(queue, exceptions, `${exceptions} has ${messages} messages that failed`, { messages });
}

/** `reason` is a sentence without a full stop. */
export function exceptionsLeft(
  queue: string,
  exceptions: string,
  reason: string,
  details: Record<string, unknown>,
): QueueError {
  return new QueueError('EXCEPTION_QUEUE_NOT_EMPTY', {
    message: `${reason}, and would be dropped with ${queue}: redrive or consume them first, or drop both by withExceptions`,
    details: { queue, exceptionQueue: exceptions, ...details },
  });
}
