/**
 * Reads a redo log forwards from a position: the applier reads what has become durable, recovery what is there. Both so see the same
 * bytes in the same way, and what was applied while the instance ran is what a recovery would have applied.
 */
import { QueueError } from '../../api/errors.ts';
import { formatGroupNumber } from '../../model/group-number.ts';
import type { GroupNumber } from '../../model/ids.ts';
import {
  type ChainEnd,
  decodeSegmentHeader,
  firstRecordOffset,
  hasCrc,
  nextStep,
  type RecordHeader,
  readRecordHeader,
  recordHeaderBytes,
  type SegmentHeader,
  stepBytes,
} from './record.ts';
import { type OpenSegment, readSegment } from './segment-files.ts';

/** Where the next record is expected: behind the last one that was applied. */
export interface LogPosition {
  /** That of the segment with the last record; the next one may be in the segment that was begun after it. */
  turn: number;
  offset: number;
  end: ChainEnd;
}

/** Before a log's first record: its first segment has turn 1. */
export const logStart: LogPosition = { turn: 0, offset: 0, end: { group: 0, crc: 0 } };

export interface LogRecord extends RecordHeader {
  /** Valid until the next record is read. */
  content: Buffer;
}

const readAheadBytes = 256 * 1024;

export class LogReader {
  /** The last group that the tables have: it may have run the application's statements, and then it is not in the log. */
  inTables: GroupNumber;
  readonly #logId: Uint8Array;
  readonly #segments: readonly OpenSegment[];
  #position: LogPosition;
  /** The segment of the position; undefined if none has its turn any more. */
  #segment: OpenSegment | undefined;
  /** Not 0: the next record follows this group, which neither the tables nor the log before it have. */
  #missing: GroupNumber = 0;
  #ahead = Buffer.alloc(readAheadBytes);
  #aheadFrom = 0;
  #aheadBytes = 0;

  /** `segments` may grow while the log is read. */
  constructor(
    logId: Uint8Array,
    segments: readonly OpenSegment[],
    position: LogPosition,
    inTables: GroupNumber = 0,
  ) {
    this.inTables = inTables;
    this.#logId = logId;
    this.#segments = segments;
    this.#position = position;
    this.#segment = this.#segmentOf(position.turn);
  }

  /** Goes back to where the reader has been. */
  seek(position: LogPosition): void {
    this.#position = position;
    this.#segment = this.#segmentOf(position.turn);
    this.#forgetReadAhead();
  }

  get position(): LogPosition {
    return this.#position;
  }

  /** The next record of the chain, up to the group `through`; undefined at its end, or before one that `assertNoneRequired` is about. */
  next(through: GroupNumber = Number.POSITIVE_INFINITY): LogRecord | undefined {
    this.#missing = 0;
    if (this.#position.end.group >= through) return undefined;
    for (;;) {
      const record = this.#nextInSegment();
      // A segment that was begun and got no record may be followed by that of the next opening.
      if (record !== undefined || this.#missing > 0 || !this.#enterNextSegment()) return record;
    }
  }

  /** Throws `COMMITS_MISSING` if `next` has stopped before a record that follows a group which the tables do not have. */
  assertNoneRequired(path: string): void {
    const [found, acknowledged] = [this.#position.end.group, this.#missing];
    if (acknowledged === 0) return;
    throw new QueueError('COMMITS_MISSING', {
      message:
        `The record behind group ${formatGroupNumber(found)} in the redo log of ${path} follows group ` +
        `${formatGroupNumber(acknowledged)}, which ran statements of the application and is not in the tables`,
      details: { path, found, acknowledged },
    });
  }

  #nextInSegment(): LogRecord | undefined {
    const segment = this.#segment;
    if (segment === undefined) return undefined;
    const { turn, offset, end } = this.#position;
    const found = this.#readRecord(segment, offset);
    if (found === undefined || found.turn !== turn) return undefined;
    if (found.predecessorCrc !== end.crc || found.group <= end.group) return undefined;
    if (found.requiresApplied > Math.max(this.inTables, end.group)) {
      this.#missing = found.requiresApplied;
      return undefined;
    }
    const recordEnd = offset + recordHeaderBytes + found.contentBytes;
    this.#position = { turn, offset: nextStep(recordEnd), end: { group: found.group, crc: found.crc } };
    return found;
  }

  #readRecord(segment: OpenSegment, offset: number): LogRecord | undefined {
    const header = readRecordHeader(
      this.#bytesAt(segment, offset, recordHeaderBytes),
      segment.bytes - offset,
    );
    if (header === undefined) return undefined;
    const record = this.#bytesAt(segment, offset, recordHeaderBytes + header.contentBytes);
    if (!hasCrc(record, { logId: this.#logId, segment: segment.number, offset }, header)) return undefined;
    return { ...header, content: record.subarray(recordHeaderBytes) };
  }

  /** A view of the bytes, which the next call may overwrite. Shorter at the end of the segment. */
  #bytesAt(segment: OpenSegment, offset: number, bytes: number): Buffer {
    const from = offset - this.#aheadFrom;
    if (from < 0 || from + bytes > this.#aheadBytes) {
      if (bytes > this.#ahead.length) this.#ahead = Buffer.alloc(2 ** Math.ceil(Math.log2(bytes)));
      this.#aheadFrom = offset;
      this.#aheadBytes = readSegment(segment, this.#ahead, offset);
      return this.#ahead.subarray(0, Math.min(bytes, this.#aheadBytes));
    }
    return this.#ahead.subarray(from, from + bytes);
  }

  /** Goes to the segment that was begun after the last record of the chain, if there is one. */
  #enterNextSegment(): boolean {
    const { turn, end } = this.#position;
    // Several if openings began one and ended before its first record, which the next one may have begun anew.
    const candidates = this.#readHeaders().filter(
      ({ header }) =>
        header.turn > turn && header.predecessor.group === end.group && header.predecessor.crc === end.crc,
    );
    const [next] = candidates.sort((one, other) => one.header.turn - other.header.turn);
    if (next === undefined) return false;
    this.#segment = next.segment;
    this.#position = { turn: next.header.turn, offset: firstRecordOffset, end };
    this.#forgetReadAhead();
    return true;
  }

  /** What was read ahead may have been written since. Call it before reading on at the end of a log that grows. */
  #forgetReadAhead(): void {
    this.#aheadBytes = 0;
  }

  /** Reads on in a log that has grown since the end of its chain was reached. */
  refresh(): void {
    this.#forgetReadAhead();
    this.#segment ??= this.#segmentOf(this.#position.turn);
  }

  #segmentOf(turn: number): OpenSegment | undefined {
    return this.#readHeaders().find(({ header }) => header.turn === turn)?.segment;
  }

  #readHeaders(): { segment: OpenSegment; header: SegmentHeader }[] {
    const bytes = Buffer.alloc(stepBytes);
    return this.#segments.flatMap((segment) => {
      readSegment(segment, bytes, 0);
      const header = decodeSegmentHeader(this.#logId, bytes);
      return header === undefined ? [] : { segment, header };
    });
  }
}
