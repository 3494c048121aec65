/** The options of a browse: validated against the queue, with defaults. */
import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import { CorrelationKey } from '../model/correlation-key.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { validateSubscriber, validateText } from '../model/session-calls.ts';
import type { BrowseOptions } from '../queues/queue-engine.ts';

/** Throws `OPTIONS_INVALID`. */
export function validateBrowse(
  row: QueueRow,
  {
    limit = 100,
    after,
    subscriber,
    correlationId,
    processed = false,
  }: NonNullable<Parameters<Instance['browse']>[1]>,
): BrowseOptions & { subscriber: string | undefined } {
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.browseMessagesMax)
    throw new QueueError('OPTIONS_INVALID', { message: `limit must be 1 to ${limits.browseMessagesMax}` });
  if (processed && row.retentionMs === 0)
    throw new QueueError('OPTIONS_INVALID', {
      message: `${row.name} keeps no consumed messages: its retentionMs is 0`,
    });
  validateSubscriber(row, subscriber);
  if (correlationId !== undefined) validateText('correlationId', correlationId);
  const key = correlationId === undefined ? undefined : new CorrelationKey(correlationId);
  return { limit, after, subscriber, key, processed };
}
