/** Hashes of correlation ids, by which a partition's local index finds the blocks that may hold a message. */
import type { PartitionId, Seq } from './ids.ts';
import { correlationIdRange } from './inspect-record.ts';
import { recordEnd } from './message-record.ts';

/** A correlation id to search for. */
export class CorrelationKey {
  readonly #id: Buffer;
  readonly hash: number;

  constructor(correlationId: string) {
    this.#id = Buffer.from(correlationId);
    this.hash = hashOf(this.#id, 0, this.#id.byteLength);
  }

  /** Whether the record that starts at `start` has this correlation id. */
  matches(source: Buffer, start: number): boolean {
    const range = correlationIdRange(source, start);
    return range !== undefined && this.#id.compare(source, ...range) === 0;
  }
}

export interface CorrelationSearch {
  partition: PartitionId;
  fromSeq: Seq;
  hash: number;
  bytesMax: number;
}

export const hashBytes = 4;

/** Four bytes for each correlation id of a block, in the order of its messages; undefined if no message has one. */
export function hashesOf(body: Buffer, count: number): Buffer | undefined {
  const hashes = Buffer.allocUnsafe(count * hashBytes);
  let length = 0;
  for (let at = 0; at < body.byteLength; at = recordEnd(body, at)) {
    const range = correlationIdRange(body, at);
    if (range !== undefined) length = hashes.writeUInt32LE(hashOf(body, ...range), length);
  }
  return length === 0 ? undefined : hashes.subarray(0, length);
}

/** FNV-1a, 32 bits, a few nanoseconds for an id. A false match (one in four billion) costs the read of one block. */
function hashOf(source: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ source[at]!, 0x01000193);
  return hash >>> 0;
}
