/** A message of the torture test: its name is in the payload, which is protected by a checksum. */
import { crc32 } from 'node:zlib';

/** `<workload>:<session>.<number>`; numbers of a session rise with its commits. */
export type Item = string;

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
