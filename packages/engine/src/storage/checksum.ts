/**
 * Checksums of what lies in an instance's file: SQLite has none over its pages once they left the log, so a damaged
 * byte in a payload, or a page that was written to the wrong place, would be handed out as if it were good. The place
 * of the bytes is part of the sum. CRC-32 by zlib: 21 µs for 128 KiB, 0.05 µs for each message of 512 bytes in a large
 * group; a cryptographic hash would guard against an author of damage, which is not what disks are.
 */
import { crc32 } from 'node:zlib';

const place = new Float64Array(4);
const placeBytes = Buffer.from(place.buffer);

/** Of a row of the pool. */
export function poolChecksum(row: {
  partition: number;
  queueId: number | null;
  shard: number | null;
  firstSeq: number | null;
}): number {
  place[0] = row.partition;
  place[1] = row.queueId ?? -1;
  place[2] = row.shard ?? -1;
  place[3] = row.firstSeq ?? -1;
  return crc32(placeBytes);
}

/** Of a block's body, bound to its partition, its first sequence number, its count and its group. */
export function blockChecksum(
  at: { partition: number; firstSeq: number; count: number; groupNo: number },
  body: Uint8Array,
): number {
  place[0] = at.partition;
  place[1] = at.firstSeq;
  place[2] = at.count;
  place[3] = at.groupNo;
  return crc32(body, crc32(placeBytes));
}

/** Of a delayed message, bound to when and where it is to go. */
export function delayedChecksum(row: {
  dueAtMs: number;
  no: number;
  queueId: number;
  shard: number;
  record: Uint8Array;
}): number {
  place[0] = row.dueAtMs;
  place[1] = row.no;
  place[2] = row.queueId;
  place[3] = row.shard;
  return crc32(row.record, crc32(placeBytes));
}

/** Of a chunk of a streamed payload, bound to its payload and its place in it. */
export function chunkChecksum({ payload, no }: { payload: number; no: number }, body: Uint8Array): number {
  place[0] = payload;
  place[1] = no;
  place[2] = 0;
  place[3] = 0;
  return crc32(body, crc32(placeBytes));
}

/** Of the row that says which message has a streamed payload. */
export function payloadUseChecksum(row: {
  queueId: number;
  shard: number;
  seq: number;
  payload: number;
  bytes: number;
}): number {
  place[0] = row.queueId;
  place[1] = row.shard;
  place[2] = row.seq;
  place[3] = row.payload;
  const at = crc32(placeBytes);
  place[0] = row.bytes;
  return crc32(placeBytes.subarray(0, Float64Array.BYTES_PER_ELEMENT), at);
}

/** Of what a subscriber consumed, bound to its partition and its group. */
export function deltaChecksum(
  at: { partition: number; subscriber: number; groupNo: number },
  ranges: Uint8Array,
): number {
  place[0] = at.partition;
  place[1] = at.subscriber;
  place[2] = at.groupNo;
  place[3] = 0;
  return crc32(ranges, crc32(placeBytes));
}
