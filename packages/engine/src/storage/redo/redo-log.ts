/**
 * The end of an instance's redo log, where its session thread writes: each closed group is appended as one record, in one write. What
 * is written is durable once it is synced; `sync` covers all records before it. One object owns the log's files while the instance is
 * open, and only it writes to them.
 *
 * Segments are used in turn. One may be begun again when all its records are applied (`onApplied`). If none is free, `append` refuses,
 * and the caller waits for the applier or has a segment added.
 */
import { fdatasyncSync, writeSync, writevSync } from 'node:fs';
import type { GroupNumber } from '../../model/ids.ts';
import { encodeGroup, type LoggedGroup } from './encode-group.ts';
import {
  type ChainEnd,
  encodeSegmentHeader,
  firstRecordOffset,
  nextStep,
  recordHeaderBytes,
  writeRecordHeader,
} from './record.ts';
import { closeSegment, type OpenSegment } from './segment-files.ts';

export interface RedoLogOptions {
  logId: Uint8Array;
  /** All of them are free: what they had is applied. */
  segments: readonly OpenSegment[];
  /** The turn of the segment that was begun last, and the end of the chain. */
  lastTurn: number;
  end: ChainEnd;
}

export interface GroupToLog {
  group: GroupNumber;
  requiresApplied: GroupNumber;
  isDurable: boolean;
  content: LoggedGroup;
}

interface RingSegment extends OpenSegment {
  /** The last group in it; 0 while it is free. */
  lastGroup: GroupNumber;
}

export class RedoLog {
  readonly #logId: Uint8Array;
  readonly #segments: RingSegment[];
  #current: RingSegment | undefined;
  #offset = 0;
  #turn: number;
  #end: ChainEnd;
  #appliedThrough: GroupNumber;
  #syncedThrough: GroupNumber;
  #syncingThrough: GroupNumber;
  /** Those with records that are not synced, in the order of their records. */
  #unsynced: RingSegment[] = [];
  readonly #recordHeader = Buffer.alloc(recordHeaderBytes);
  /** Bytes passed to the kernel, and syncs, since the log was opened. */
  writtenBytes = 0;
  syncs = 0;

  constructor({ logId, segments, lastTurn, end }: RedoLogOptions) {
    this.#logId = logId;
    this.#segments = segments.map((segment) => ({ ...segment, lastGroup: 0 }));
    this.#turn = lastTurn;
    this.#end = end;
    this.#appliedThrough = end.group;
    this.#syncedThrough = end.group;
    this.#syncingThrough = end.group;
  }

  get syncedThrough(): GroupNumber {
    return this.#syncedThrough;
  }

  /** Sizes of all segments together. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get segmentNumbers(): number[] {
    return this.#segments.map(({ number }) => number);
  }

  /** Bytes of the smallest segment that would take the content of this group. */
  static segmentBytesFor(content: LoggedGroup): number {
    return nextStep(firstRecordOffset + recordBytesOf(encodeGroup(content)));
  }

  /** Whether a segment of this size is there, free or not. */
  fits(bytes: number): boolean {
    return this.#segments.some((segment) => segment.bytes >= bytes);
  }

  /** A segment that was created and listed meanwhile. */
  add(segment: OpenSegment): void {
    this.#segments.push({ ...segment, lastGroup: 0 });
  }

  /** The tables have every group through this one. */
  onApplied(through: GroupNumber): void {
    this.#appliedThrough = Math.max(this.#appliedThrough, through);
  }

  /**
   * Writes the group behind the last one; false if there is no room: nothing was written. Throws what the write throws. After a write
   * that failed the next record takes the same place.
   */
  append({ group, requiresApplied, isDurable, content }: GroupToLog): boolean {
    const parts = encodeGroup(content);
    const bytes = recordBytesOf(parts);
    const place = this.#placeFor(bytes);
    if (place === undefined) return false;
    const { segment, offset } = place;
    if (segment !== this.#current) this.#begin(segment);
    const header = this.#recordHeader;
    const crc = writeRecordHeader(
      header,
      { logId: this.#logId, segment: segment.number, offset },
      {
        turn: this.#turn,
        group,
        requiresApplied,
        syncedThrough: this.#syncedThrough,
        predecessorCrc: this.#end.crc,
        isDurable,
      },
      parts,
    );
    writeAll(segment.descriptor, [header, ...parts], bytes, offset);
    this.writtenBytes += bytes;
    this.#offset = nextStep(offset + bytes);
    this.#end = { group, crc };
    segment.lastGroup = group;
    if (this.#unsynced.at(-1) !== segment) this.#unsynced.push(segment);
    return true;
  }

  #placeFor(bytes: number): { segment: RingSegment; offset: number } | undefined {
    const current = this.#current;
    if (current !== undefined && this.#offset + bytes <= current.bytes)
      return { segment: current, offset: this.#offset };
    const segment = this.#segments.find(
      (each) =>
        each !== current && each.lastGroup <= this.#appliedThrough && firstRecordOffset + bytes <= each.bytes,
    );
    return segment === undefined ? undefined : { segment, offset: firstRecordOffset };
  }

  #begin(segment: RingSegment): void {
    const header = encodeSegmentHeader(this.#logId, { turn: this.#turn + 1, predecessor: this.#end });
    writeAll(segment.descriptor, [header], header.length, 0);
    this.writtenBytes += header.length;
    this.#turn += 1;
    this.#current = segment;
    this.#offset = firstRecordOffset;
    segment.lastGroup = this.#end.group; // it is free again only with its own records
  }

  /**
   * Syncs what was written, the oldest segment first, on the calling thread. All groups that were appended are durable when it
   * returns. Throws what a sync throws: after that nothing may be written.
   */
  sync(): void {
    for (const descriptor of this.beginSync()) fdatasyncSync(descriptor);
    this.endSync();
  }

  /** The same for a sync on another thread: what it has to sync, in this order. Nothing before `endSync` counts as synced. */
  beginSync(): number[] {
    this.#syncingThrough = this.#end.group;
    const descriptors = this.#unsynced.map(({ descriptor }) => descriptor);
    this.#unsynced = [];
    return descriptors;
  }

  /** The sync that was begun last has succeeded. */
  endSync(): void {
    this.#syncedThrough = this.#syncingThrough;
    this.syncs += 1;
  }

  close(): void {
    for (const segment of this.#segments) closeSegment(segment);
  }
}

const recordBytesOf = (parts: readonly Uint8Array[]): number =>
  parts.reduce((sum, { byteLength }) => sum + byteLength, recordHeaderBytes);

/** A write to a file is rarely short, but may be, for example before the disk is full. */
function writeAll(descriptor: number, parts: Uint8Array[], bytes: number, offset: number): void {
  let written = writevSync(descriptor, parts, offset);
  if (written === bytes) return;
  const rest = Buffer.concat(parts);
  while (written < bytes) written += writeSync(descriptor, rest, written, bytes - written, offset + written);
}
