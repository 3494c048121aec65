/**
 * The number of the last group that an instance acknowledged as durable, kept beside its file in `instance-N.ack`. A
 * damaged frame of the write-ahead log makes SQLite drop its commit and every later one silently; this number lets recovery
 * notice (`docs/decisions/what-was-acknowledged.md`).
 *
 * It is written after the group's sync and before its acknowledgement (measured: 0.6 µs), and not synced itself: a killed
 * process loses nothing of it, and after a power cut it may be older, but never newer, than the last group in the log.
 *
 *     f64 group number · u32 CRC-32 of those eight bytes
 */

import { closeSync, existsSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { GroupNumber } from '../../../model/ids.ts';
import { makePrivate, privateFileMode } from '../../private-files.ts';
import { syncFolder } from '../../sqlite/sync-folder.ts';

const fileBytes = 12;

export function acknowledgedGroupPath(instancePath: string): string {
  return instancePath.replace(/\.db$/, '.ack');
}

/** The number in the file, or undefined if it is missing or damaged. */
export function readAcknowledgedGroup(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const content = Buffer.alloc(fileBytes);
  const handle = openSync(path, 'r');
  try {
    if (readSync(handle, content, 0, fileBytes, 0) < fileBytes) return undefined;
  } finally {
    closeSync(handle);
  }
  return content.readUInt32LE(8) === crc32(content.subarray(0, 8)) ? content.readDoubleLE(0) : undefined;
}

export class AcknowledgedGroupFile {
  readonly #descriptor: number;
  readonly #content = Buffer.alloc(fileBytes);

  /** Opens or creates the file. The name of a new one is durable when this returns. */
  constructor(path: string) {
    const isNew = !existsSync(path);
    this.#descriptor = openSync(path, isNew ? 'w+' : 'r+', privateFileMode);
    makePrivate(path);
    if (isNew) syncFolder(dirname(path));
  }

  /** A failed write is ignored: the older number that stays is still right, only less exact. */
  write(groupNumber: GroupNumber): void {
    try {
      this.#writeContent(groupNumber);
    } catch {}
  }

  #writeContent(groupNumber: GroupNumber): void {
    this.#content.writeDoubleLE(groupNumber, 0);
    this.#content.writeUInt32LE(crc32(this.#content.subarray(0, 8)), 8);
    writeSync(this.#descriptor, this.#content, 0, fileBytes, 0);
  }

  /** Writes and syncs: when a file is opened, not for each group. */
  writeDurably(groupNumber: GroupNumber): void {
    this.#writeContent(groupNumber);
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
