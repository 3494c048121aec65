/**
 * The bytes of an instance's redo log. A log is a ring of segments, files of zeroes that are written over in turn, so that a sync
 * carries data and no metadata of the file. A segment begins with a header, and records follow it, each at a multiple of `stepBytes`:
 *
 *     header   magic · version · log id · turn · predecessor's group · predecessor's CRC · CRC
 *     record   magic · bytes · group · requires applied · synced through · turn · predecessor's CRC · flags · CRC · content
 *
 * The CRC of a record covers the log's id and its place, segment and offset, so that a payload that is a copy of a log is never taken for
 * one. Its turn tells it from those of earlier turns, which stand behind it until they are written over. Each names the CRC of the record before it, across segments too:
 * a record counts only as the end of an unbroken chain. `docs/decisions/redo-log.md` has what each part is for.
 */
import { crc32 } from 'node:zlib';
import type { GroupNumber } from '../../model/ids.ts';

/** Records begin at multiples of a sector, so that one that was torn leaves those before it whole. */
export const stepBytes = 512;
export const logIdBytes = 16;
const segmentMagic = 0x3153_4c52; // "RLS1"
const recordMagic = 0x3152_4c52; // "RLR1"
const version = 1;
export const recordHeaderBytes = 64;
const segmentHeaderBytes = 64;

/** A segment's first record is behind its header. */
export const firstRecordOffset = stepBytes;

/** The end of a chain of records: the last record's group and CRC; zeroes before the first one of a log. */
export interface ChainEnd {
  group: GroupNumber;
  crc: number;
}

export interface SegmentHeader {
  /** How many segments the log had begun before this one; a file is begun again and again. */
  turn: number;
  predecessor: ChainEnd;
}

export interface RecordHeader {
  /** That of its segment. */
  turn: number;
  group: GroupNumber;
  /** Bytes behind this header. */
  contentBytes: number;
  /** The group that SQLite must have applied: a later one that the log does not have, since it ran the application's statements. */
  requiresApplied: GroupNumber;
  /** Every group up to this one was synced when the record was written. */
  syncedThrough: GroupNumber;
  predecessorCrc: number;
  /** Its group is durable only once it is synced. */
  isDurable: boolean;
  crc: number;
}

/** Where a record is, which its CRC covers. */
export interface RecordPlace {
  logId: Uint8Array;
  segment: number;
  offset: number;
}

/** The end of a record, rounded up to where the next one may begin. */
export const nextStep = (end: number): number => Math.ceil(end / stepBytes) * stepBytes;

export function encodeSegmentHeader(logId: Uint8Array, { turn, predecessor }: SegmentHeader): Buffer {
  const header = Buffer.alloc(stepBytes);
  header.writeUInt32LE(segmentMagic, 0);
  header.writeUInt32LE(version, 4);
  header.set(logId, 8);
  header.writeDoubleLE(turn, 24);
  header.writeDoubleLE(predecessor.group, 32);
  header.writeUInt32LE(predecessor.crc, 40);
  header.writeUInt32LE(crc32(header.subarray(0, segmentHeaderBytes - 4)), segmentHeaderBytes - 4);
  return header;
}

/** Undefined for a file of zeroes, a torn header and one of another log. */
export function decodeSegmentHeader(logId: Uint8Array, bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < segmentHeaderBytes || bytes.readUInt32LE(0) !== segmentMagic) return undefined;
  const crcAt = segmentHeaderBytes - 4;
  if (crc32(bytes.subarray(0, crcAt)) !== bytes.readUInt32LE(crcAt)) return undefined;
  if (bytes.readUInt32LE(4) !== version || !bytes.subarray(8, 8 + logIdBytes).equals(logId)) return undefined;
  const predecessor = { group: bytes.readDoubleLE(32), crc: bytes.readUInt32LE(40) };
  return { turn: bytes.readDoubleLE(24), predecessor };
}

const placeBytes = logIdBytes + 16;
const placeBuffer = Buffer.alloc(placeBytes);

function crcOfPlace({ logId, segment, offset }: RecordPlace): number {
  placeBuffer.set(logId, 0);
  placeBuffer.writeDoubleLE(segment, logIdBytes);
  placeBuffer.writeDoubleLE(offset, logIdBytes + 8);
  return crc32(placeBuffer);
}

const crcAt = 48;

/** Writes the header at the start of `target`; `content` are the parts that follow it. Returns the record's CRC. */
export function writeRecordHeader(
  target: Buffer,
  place: RecordPlace,
  header: Omit<RecordHeader, 'crc' | 'contentBytes'>,
  content: readonly Uint8Array[],
): number {
  let contentBytes = 0;
  for (const part of content) contentBytes += part.byteLength;
  target.fill(0, 0, recordHeaderBytes);
  target.writeUInt32LE(recordMagic, 0);
  target.writeUInt32LE(contentBytes, 4);
  target.writeDoubleLE(header.group, 8);
  target.writeDoubleLE(header.requiresApplied, 16);
  target.writeDoubleLE(header.syncedThrough, 24);
  target.writeDoubleLE(header.turn, 32);
  target.writeUInt32LE(header.predecessorCrc, 40);
  target.writeUInt32LE(header.isDurable ? 1 : 0, 44);
  let crc = crc32(target.subarray(0, crcAt), crcOfPlace(place));
  for (const part of content) crc = crc32(part, crc);
  target.writeUInt32LE(crc, crcAt);
  return crc;
}

/**
 * The header of what may be a record; undefined if it is none. Its CRC is not compared yet: `hasCrc` does that once the content is
 * read. `bytesLeft`: from the record's start to the end of its segment.
 */
export function readRecordHeader(bytes: Buffer, bytesLeft: number): RecordHeader | undefined {
  if (bytes.length < recordHeaderBytes || bytes.readUInt32LE(0) !== recordMagic) return undefined;
  const contentBytes = bytes.readUInt32LE(4);
  if (recordHeaderBytes + contentBytes > bytesLeft) return undefined;
  return {
    contentBytes,
    group: bytes.readDoubleLE(8),
    requiresApplied: bytes.readDoubleLE(16),
    syncedThrough: bytes.readDoubleLE(24),
    turn: bytes.readDoubleLE(32),
    predecessorCrc: bytes.readUInt32LE(40),
    isDurable: bytes.readUInt32LE(44) === 1,
    crc: bytes.readUInt32LE(crcAt),
  };
}

/** Whether a whole record, header and content, is what was written at this place. */
export function hasCrc(record: Buffer, place: RecordPlace, { crc }: RecordHeader): boolean {
  const ofHeader = crc32(record.subarray(0, crcAt), crcOfPlace(place));
  return crc32(record.subarray(recordHeaderBytes), ofHeader) === crc;
}
