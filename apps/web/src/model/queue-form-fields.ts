/** The fields of the console's forms, and which errors of the server are about each of them. */
import type { FormFields } from './form-faults.ts';

const fields = <Name extends string>(table: FormFields<Name>): FormFields<Name> => table;

export const createQueueFields = fields({
  name: { codes: ['QUEUE_EXISTS'] },
  type: {},
  kind: {},
  durability: {},
  priorities: {},
  shards: {},
  buffered: { names: ['visibility'] },
  messagesMax: {},
  correlationIndex: {},
  attemptsMax: {},
  retryDelayMs: {},
});

export const enqueueFields = fields({
  payload: { codes: ['PAYLOAD_TOO_LARGE', 'REQUEST_TOO_LARGE'] },
  copies: { names: ['messages'], codes: ['TX_TOO_LARGE'] },
  priority: {},
  delayMs: {},
  correlationId: {},
  recipients: { codes: ['SUBSCRIBER_NOT_FOUND'] },
});

export const dequeueFields = fields({ mode: { names: ['mode', 'holdMs'] }, max: {} });

export const subscribeFields = fields({ name: { codes: ['SUBSCRIBER_EXISTS'] }, durable: {} });

export const convertFields = fields({
  shards: {},
  attemptsMax: { codes: ['QUEUE_EXISTS'] }, // the name of the exception queue is taken
  cacheMiB: { names: ['cacheMiB', 'cacheBytesMax'] },
});

export const redriveFields = fields({
  to: { codes: ['QUEUE_NOT_FOUND', 'REDRIVE_REFUSED', 'ENQUEUE_STOPPED'] },
  max: { codes: ['TX_TOO_LARGE'] },
});

/**
 * A number as it was typed; nothing if nothing was. A text that is no number is sent as it is, since the server says so in words,
 * beside the field.
 */
export function typedNumber(text: string): number | undefined {
  if (text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : (text as unknown as number);
}

/** An object without its undefined fields, which a body in JSON does not have either. */
export function givenFields<Body extends object>(
  body: Body,
): { [Name in keyof Body]: Exclude<Body[Name], undefined> } {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as never;
}
