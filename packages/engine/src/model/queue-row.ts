/** A queue as the catalog stores it. */
import type { QueueId } from './ids.ts';
import type { QueueSettings } from './queue-settings.ts';

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
