/**
 * A message as the servers store it: the payload as it is, its id as the message id by which they tell duplicates, and the
 * rest in one header.
 */
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import type { NewMessage } from '@shardlab/engine';

const idHeader = 'Nats-Msg-Id';
const fieldsHeader = 'Shardlab-Message';

export interface StoredMessage {
  id: string;
  payload: Buffer;
  correlationId?: string;
  groupKey?: string;
  properties?: Record<string, string>;
  recipients?: string[];
  enqueuedAtMs: number;
}

/** The fields by short names: they are stored with each message. */
interface Fields {
  /** Id and time of enqueue, of a delayed message: the servers keep neither when it becomes due. */
  i?: string;
  t?: number;
  c?: string;
  g?: string;
  p?: Record<string, string>;
  r?: string[];
}

export function encodeHeaders(
  id: string,
  message: Omit<NewMessage, 'payload'>,
  delayed?: { enqueuedAtMs: number; dueAtMs: number; target: string },
): MsgHdrs {
  const { correlationId, groupKey, properties, recipients } = message;
  const all = headers();
  all.set(idHeader, id);
  const fields: Fields = {
    ...(delayed !== undefined && { i: id, t: delayed.enqueuedAtMs }),
    ...(correlationId !== undefined && { c: correlationId }),
    ...(groupKey !== undefined && { g: groupKey }),
    ...(properties !== undefined && { p: properties }),
    ...(recipients !== undefined && { r: recipients }),
  };
  if (Object.keys(fields).length > 0) all.set(fieldsHeader, encodeURIComponent(JSON.stringify(fields)));
  if (delayed !== undefined) {
    all.set('Nats-Schedule', `@at ${new Date(delayed.dueAtMs).toISOString()}`);
    all.set('Nats-Schedule-Target', delayed.target);
  }
  return all;
}

/** When a delayed message becomes due, epoch ms; undefined for any other. */
export function dueAtMs(stored: MsgHdrs | undefined): number | undefined {
  const schedule = stored?.get('Nats-Schedule') ?? '';
  return schedule.startsWith('@at ') ? Date.parse(schedule.slice(4)) : undefined;
}

/** A message that another program published has neither id nor fields; its number in the stream is its id then. */
export function decodeMessage(
  stored: MsgHdrs | undefined,
  data: Uint8Array,
  place: { sequence: number; storedAtMs: number },
): StoredMessage {
  const text = stored?.get(fieldsHeader) ?? '';
  const fields = text === '' ? {} : (JSON.parse(decodeURIComponent(text)) as Fields);
  const id = fields.i ?? (stored?.get(idHeader) || String(place.sequence));
  return {
    id,
    payload: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    enqueuedAtMs: fields.t ?? place.storedAtMs,
    ...(fields.c !== undefined && { correlationId: fields.c }),
    ...(fields.g !== undefined && { groupKey: fields.g }),
    ...(fields.p !== undefined && { properties: fields.p }),
    ...(fields.r !== undefined && { recipients: fields.r }),
  };
}
