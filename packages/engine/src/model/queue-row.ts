/** A queue as the catalog stores it. */
import type { QueueSettings } from '../api/queue-settings.ts';
import type { QueueId } from './ids.ts';

/** A queue to be created. */
export interface NewQueueRow extends QueueSettings {
  name: string;
}

export interface QueueRow extends NewQueueRow {
  queueId: QueueId;
  /** Queue for messages that reached `attemptsMax`; null without a limit. */
  exceptionQueueId: QueueId | null;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
}

export function exceptionQueueName(queue: string): string {
  return `${queue}.exceptions`;
}
