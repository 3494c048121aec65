/**
 * A message as the servers store it: the payload as it is, its id as the message id by which they detect duplicates, and the rest
 * in one header.
 */
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import type { BrowsedMessage } from '@shardlab/engine';

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
  /**
   * Id and time of enqueue: of a delayed message, since the servers keep neither when it becomes due, and of one that was
   * moved from the local engine.
   */
  i?: string;
  t?: number;
  c?: string;
  g?: string;
  p?: Record<string, string>;
  r?: string[];
}

/** Fields that the header has in addition to those of a new message. */
export interface KeptFields {
  enqueuedAtMs: number;
  /** For a delayed message: when it is due, and the subject to which it then moves. */
  due?: { dueAtMs: number; target: string };
}

export function encodeHeaders(
  id: string,
  message: Pick<BrowsedMessage, 'correlationId' | 'groupKey' | 'properties' | 'recipients'>,
  kept?: KeptFields,
): MsgHdrs {
  const { correlationId, groupKey, properties, recipients } = message;
  const all = headers();
  all.set(idHeader, id);
  const fields: Fields = {
    ...(kept !== undefined && { i: id, t: kept.enqueuedAtMs }),
    ...(correlationId !== undefined && { c: correlationId }),
    ...(groupKey !== undefined && { g: groupKey }),
    ...(properties !== undefined && { p: properties }),
    ...(recipients !== undefined && { r: recipients }),
  };
  if (Object.keys(fields).length > 0) all.set(fieldsHeader, encodeURIComponent(JSON.stringify(fields)));
  if (kept?.due !== undefined) {
    all.set('Nats-Schedule', `@at ${new Date(kept.due.dueAtMs).toISOString()}`);
    all.set('Nats-Schedule-Target', kept.due.target);
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
