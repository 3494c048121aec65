/** The options of a browse: validated against the queue, with defaults. */
import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import { assertFields } from '../model/call-arguments.ts';
import { browseFields } from '../model/call-fields.ts';
import { CorrelationKey } from '../model/correlation-key.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { validateBytesMax, validateSubscriber, validateText } from '../model/session-calls.ts';
import type { BrowseOptions } from '../queues/queue-engine.ts';

/** Throws `OPTIONS_INVALID`. */
export function validateBrowse(
  row: QueueRow,
  options: NonNullable<Parameters<Instance['browse']>[1]>,
): BrowseOptions & { subscriber: string | undefined } {
  assertFields(options, browseFields);
  const { limit = 100, after, subscriber, correlationId, processed = false, bytesMax, state } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.browseMessagesMax)
    throw new QueueError('OPTIONS_INVALID', { message: `limit must be 1 to ${limits.browseMessagesMax}` });
  if (processed && row.retentionMs === 0)
    throw new QueueError('OPTIONS_INVALID', {
      message: `${row.name} keeps no consumed messages: its retentionMs is 0`,
    });
  validateSubscriber(row, subscriber);
  if (correlationId !== undefined) validateText('correlationId', correlationId);
  const key = correlationId === undefined ? undefined : new CorrelationKey(correlationId);
  if (bytesMax !== undefined) validateBytesMax(bytesMax);
  if (state !== undefined && (processed || !['ready', 'held', 'delayed'].includes(state)))
    throw new QueueError('OPTIONS_INVALID', {
      message: 'state must be ready, held or delayed, and not together with processed',
      details: { option: 'state' },
    });
  return { limit, after, subscriber, key, processed, bytesMax, state };
}
