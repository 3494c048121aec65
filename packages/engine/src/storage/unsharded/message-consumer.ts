/** The queue or subscriber for which messages of the unsharded file are claimed, and the keys of claimed messages. */
import type { QueueId, Seq, SubscriberId } from '../../model/ids.ts';

/** All consumers of a queue together, with subscriber 0, or one subscriber of a topic. */
export interface MessageConsumer {
  queueId: QueueId;
  subscriber: SubscriberId;
  /** Each delivery to it is an attempt that counts, also after a power cut: claims are synced. */
  countsAttempts?: boolean;
}

/** How much one claim takes. */
export interface ClaimBounds {
  readonly max: number;
  /** Bytes of records; the first is taken whatever its size. Undefined: no bound. */
  readonly bytesMax?: number | undefined;
}

/** Rows from the first on, within the bounds. Further ones are not read. */
export function takeWithin<Row extends { readonly record: Uint8Array }>(
  rows: Iterable<Row>,
  { max, bytesMax = Number.POSITIVE_INFINITY }: ClaimBounds,
): Row[] {
  const taken: Row[] = [];
  let left = bytesMax;
  for (const row of rows) {
    left -= row.record.byteLength;
    if (taken.length === max || (left < 0 && taken.length > 0)) break;
    taken.push(row);
  }
  return taken;
}

/** Key of the recipient row of a topic's message. */
export interface RecipientKey {
  subscriber: SubscriberId;
  /** 0 is the most urgent. */
  rank: number;
}

/** A message that a process holds: of a queue, or of a topic for one of its subscribers. */
export interface HeldMessage {
  queueId: QueueId;
  id: Seq;
  recipient?: RecipientKey | undefined;
}

/** A delivered message, with the values that the file must contain until it is consumed. */
export interface MessageKey extends HeldMessage {
  /** Checksum of its row. */
  crc: number;
}

/** Key for maps and sets of consumers. */
export function consumerKey({ queueId, subscriber }: MessageConsumer): string {
  return `${queueId}/${subscriber}`;
}

/** Key for maps and sets of held messages: several subscribers can hold one message. */
export function heldKey({ id, recipient }: HeldMessage): string {
  return `${id}/${recipient?.subscriber ?? 0}`;
}
