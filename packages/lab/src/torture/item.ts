/**
 * What the torture follows: one message for one consumer. A queue's message is one item, a topic's is one for each of its
 * durable subscribers. Its name travels in the payload, under a check sum over all of it.
 *
 *     <actor>:<session>.<number>[@<subscriber>]     numbers of a session rise with its commits
 */
import { crc32 } from 'node:zlib';

export type Item = string;

export interface ItemName {
  /** Actor and session: what has an order of its own. */
  session: string;
  no: number;
  subscriber: string;
}

export function parseItem(item: Item): ItemName {
  const match = /^(.+)\.(\d+)(?:@(.+))?$/.exec(item);
  if (match === null) throw new Error(`No item: ${item}`);
  return { session: match[1]!, no: Number(match[2]), subscriber: match[3] ?? '' };
}

export function itemPayload(item: Item, fillBytes: number): string {
  const body = `${item}|${'.'.repeat(fillBytes)}`;
  return `${body}|${crc32(body).toString(16)}`;
}

/** The item in a payload, or undefined if the payload is not what `itemPayload` made. */
export function readItem(payload: Buffer): Item | undefined {
  const text = payload.toString('latin1');
  const end = text.lastIndexOf('|');
  if (end < 0 || crc32(text.slice(0, end)).toString(16) !== text.slice(end + 1)) return undefined;
  return text.slice(0, text.indexOf('|'));
}
