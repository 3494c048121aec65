/** The settings with which a consumer is opened at the instance. */
import type { AckMode, ConsumerOptions } from '../api/consumer.ts';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { assertFields } from '../model/call-arguments.ts';
import { consumerFields } from '../model/call-fields.ts';
import { validateHoldMs, validateMaxAndWait } from '../model/session-calls.ts';
import { assertText, consumerModes } from '../wire/protocol.ts';

export interface ConsumerSettings {
  queue: string;
  subscriber: string | undefined;
  messagesMaximum: number;
  mode: (typeof consumerModes)[keyof typeof consumerModes];
  holdMs: number;
}

/** Throws `OPTIONS_INVALID`. */
export function validateConsumer(
  queue: string,
  options: ConsumerOptions,
): { settings: ConsumerSettings; ackMode: AckMode; isPrefetchWanted: boolean } {
  assertFields(options, consumerFields);
  const { subscriber, ackMode = 'auto', messagesMaximum = limits.pipelineMessagesDefault } = options;
  const { prefetch = false, fair = true, holdMs = limits.holdMsDefault } = options;
  assertText('queue', queue);
  if (subscriber !== undefined) assertText('subscriber', subscriber);
  validateMaxAndWait(messagesMaximum, 0);
  validateHoldMs(holdMs);
  if (!ackModes.includes(ackMode))
    throw new QueueError('OPTIONS_INVALID', {
      message: `ackMode must be one of ${ackModes.join(', ')}`,
      details: { option: 'ackMode' },
    });
  const mode = fair ? consumerModes.fair : consumerModes.all;
  const settings = { queue, subscriber, messagesMaximum, mode, holdMs };
  return { settings, ackMode, isPrefetchWanted: prefetch && messagesMaximum > 1 };
}

const ackModes: readonly AckMode[] = ['auto', 'client', 'dups-ok', 'transacted'];
