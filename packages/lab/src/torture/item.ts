/**
 * The unit that the torture test tracks: one message for one consumer. A queue's message is one item; a topic's message is
 * one item per durable subscriber. The name of the item is in the payload, which is protected by a checksum.
 *
 *     <workload>:<session>.<number>[@<subscriber>]     numbers of a session rise with its commits
 */
import { crc32 } from 'node:zlib';

export type Item = string;

export interface ItemName {
  /** Workload and session: items of one session have an order. */
  session: string;
  sequence: number;
  subscriber: string;
}

export function parseItem(item: Item): ItemName {
  const match = /^(.+)\.(\d+)(?:@(.+))?$/.exec(item);
  if (match === null) throw new Error(`Not an item name: ${item}`);
  return { session: match[1]!, sequence: Number(match[2]), subscriber: match[3] ?? '' };
}

export function itemPayload(item: Item, fillBytes: number): string {
  const body = `${item}|${'.'.repeat(fillBytes)}`;
  return `${body}|${crc32(body).toString(16)}`;
}

/** The item in a payload, or undefined if `itemPayload` did not create the payload. */
export function readItem(payload: Buffer): Item | undefined {
  const text = payload.toString('latin1');
  const end = text.lastIndexOf('|');
  if (end < 0 || crc32(text.slice(0, end)).toString(16) !== text.slice(end + 1)) return undefined;
  return text.slice(0, text.indexOf('|'));
}
