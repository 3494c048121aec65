/**
 * The bound L: a redo log and nothing else. A group is one record, in one write and one sync. As with the engine's log, segments are
 * files of zeroes that are written over in turn, so that a sync carries no metadata, and records begin at multiples of a sector; but
 * nothing follows the log, so that any segment may be begun again.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { blockBytesOf, type Group, type GroupStore, openLoop, roomFor, writeBlock } from './loop.ts';

const segmentBytes = 4 * 1024 * 1024;
const segmentCount = 2;
const sectorBytes = 512;
/**
 * Zeroes are written page by page: what one write brings into Linux's cache as one piece counts as written as a whole each time that a
 * part of it is.
 */
const zeroes = Buffer.alloc(4096);

/** CRC, chained to that of the record before · bytes · number of the first message · messages · consumed ranges */
const headerBytes = 24;
const rangeBytes = 16;

class SegmentedLog implements GroupStore {
  readonly stated = 'fdatasync of each group';
  readonly written = { syncs: 0, rows: 0 };
  readonly #segments: readonly number[];
  #segment = 0;
  #offset = 0;
  #lastCrc = 0;
  #record: Buffer = Buffer.alloc(sectorBytes);

  constructor(path: string) {
    this.#segments = Array.from({ length: segmentCount }, (_, index) =>
      createSegment(`${path}.log-${index}`),
    );
  }

  write(group: Group): void {
    const bytes = this.#encode(group);
    // A record that is larger than a segment begins one, and makes its file grow.
    if (this.#offset > 0 && this.#offset + bytes > segmentBytes) {
      this.#segment = (this.#segment + 1) % segmentCount;
      this.#offset = 0;
    }
    const descriptor = this.#segments[this.#segment]!;
    for (let done = 0; done < bytes; )
      done += writeSync(descriptor, this.#record, done, bytes - done, this.#offset + done);
    fdatasyncSync(descriptor);
    this.written.syncs += 1;
    this.#offset = Math.ceil((this.#offset + bytes) / sectorBytes) * sectorBytes;
  }

  close(): void {
    for (const descriptor of this.#segments) closeSync(descriptor);
  }

  /** Into `#record`; returns its bytes. */
  #encode({ first, payloads, consumed }: Group): number {
    const blockAt = headerBytes + consumed.length * rangeBytes;
    const bytes = blockAt + blockBytesOf(payloads);
    const record = roomFor(bytes, this.#record);
    this.#record = record;
    record.writeUInt32LE(bytes, 4);
    record.writeDoubleLE(first, 8);
    record.writeUInt32LE(payloads.length, 16);
    record.writeUInt32LE(consumed.length, 20);
    for (const [index, range] of consumed.entries()) {
      const at = headerBytes + index * rangeBytes;
      record.writeUInt32LE(range.subscriber, at);
      record.writeDoubleLE(range.first, at + 4);
      record.writeUInt32LE(range.count, at + 12);
    }
    writeBlock(payloads, record, blockAt);
    this.#lastCrc = crc32(record.subarray(4, bytes), this.#lastCrc);
    record.writeUInt32LE(this.#lastCrc, 0);
    return bytes;
  }
}

function createSegment(path: string): number {
  const descriptor = openSync(path, 'w');
  for (let at = 0; at < segmentBytes; at += zeroes.length)
    writeSync(descriptor, zeroes, 0, zeroes.length, at);
  fsyncSync(descriptor);
  return descriptor;
}

export const open = openLoop((path) => new SegmentedLog(path));
