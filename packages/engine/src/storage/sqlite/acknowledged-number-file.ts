/**
 * The number of the last commit to a database file that was acknowledged as durable, kept beside that file. A damaged frame
 * of a write-ahead log makes SQLite drop its commit and every later one silently; by this number the next opening notices
 * (`docs/decisions/what-was-acknowledged.md`).
 *
 * It is written after the commit's sync and before its acknowledgement (measured: 0.6 µs), and not synced itself: a killed
 * process loses nothing of it, and after a power cut it may be older, but never newer, than the last commit in the log.
 *
 * Where several processes write to the database, each has a slot of its own by its pid, so that none overwrites a later
 * number with its own. Processes that share a slot write later numbers later, but for a moment between commit and write.
 *
 *     f64 number · u32 CRC-32 of those eight bytes, once for each slot
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { makePrivate, privateFileMode } from '../private-files.ts';
import { syncFolder } from './sync-folder.ts';

const slotBytes = 12;
const slotsMax = 32;

/** The file beside a database: `unsharded.db` has `unsharded.ack`. */
export function acknowledgedNumberPath(databasePath: string): string {
  return databasePath.replace(/\.db$/, '.ack');
}

/** The highest number in the file, or undefined if the file is missing or no slot of it is undamaged. */
export function readAcknowledgedNumber(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const content = readFileSync(path);
  let highest: number | undefined;
  for (let at = 0; at + slotBytes <= Math.min(content.length, slotsMax * slotBytes); at += slotBytes) {
    if (content.readUInt32LE(at + 8) !== crc32(content.subarray(at, at + 8))) continue;
    highest = Math.max(highest ?? 0, content.readDoubleLE(at));
  }
  return highest;
}

export class AcknowledgedNumberFile {
  readonly #descriptor: number;
  readonly #position: number;
  readonly #content = Buffer.alloc(slotBytes);

  /** Opens or creates the file; the name of a new one is durable when this returns. `pid`: of this of several writers. */
  constructor(path: string, pid = 0) {
    this.#position = (pid % slotsMax) * slotBytes;
    const isNew = !existsSync(path);
    // Another process may create it at the same time: neither may truncate what the other has written.
    if (isNew) closeSync(openSync(path, 'a', privateFileMode));
    makePrivate(path);
    this.#descriptor = openSync(path, 'r+');
    if (isNew) syncFolder(dirname(path));
  }

  /** A failed write is ignored: the older number that stays is still right, only less exact. */
  write(acknowledged: number): void {
    try {
      this.#writeContent(acknowledged);
    } catch {}
  }

  #writeContent(acknowledged: number): void {
    this.#content.writeDoubleLE(acknowledged, 0);
    this.#content.writeUInt32LE(crc32(this.#content.subarray(0, 8)), 8);
    writeSync(this.#descriptor, this.#content, 0, slotBytes, this.#position);
  }

  /** Writes and syncs: when a file is opened, not for each commit. */
  writeDurably(acknowledged: number): void {
    this.#writeContent(acknowledged);
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
