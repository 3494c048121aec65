/**
 * The number of the last group that an instance acknowledged as durable, kept beside its file in `instance-N.ack`. A
 * damaged frame of the write-ahead log makes SQLite drop that frame's commit and every later one without a word; by this
 * number recovery can tell (`docs/decisions/what-was-acknowledged.md`).
 *
 * It is written after the group's sync and before its acknowledgement (measured: 0.6 µs), and not synced itself: a killed
 * process loses nothing of it, and after a power cut it may be older, never newer, than what the log must hold.
 *
 *     f64 group number · u32 CRC-32 of those eight bytes
 */
import { closeSync, existsSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { syncFolder } from './sync-folder.ts';

const bytes = 12;

export function acknowledgedPath(instancePath: string): string {
  return instancePath.replace(/\.db$/, '.ack');
}

/** The number in the file, or undefined if there is none that can be trusted. */
export function readAcknowledged(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const content = Buffer.alloc(bytes);
  const handle = openSync(path, 'r');
  try {
    if (readSync(handle, content, 0, bytes, 0) < bytes) return undefined;
  } finally {
    closeSync(handle);
  }
  return content.readUInt32LE(8) === crc32(content.subarray(0, 8)) ? content.readDoubleLE(0) : undefined;
}

export class Acknowledged {
  readonly #handle: number;
  readonly #content = Buffer.alloc(bytes);

  /** Opens or makes the file. Where it is new, its name is durable when this returns. */
  constructor(path: string) {
    const isNew = !existsSync(path);
    this.#handle = openSync(path, isNew ? 'w+' : 'r+');
    if (isNew) syncFolder(dirname(path));
  }

  /** What cannot be written leaves an older number, which tells less and nothing wrong: no reason to fail a commit. */
  note(groupNo: number): void {
    try {
      this.#write(groupNo);
    } catch {}
  }

  #write(groupNo: number): void {
    this.#content.writeDoubleLE(groupNo, 0);
    this.#content.writeUInt32LE(crc32(this.#content.subarray(0, 8)), 8);
    writeSync(this.#handle, this.#content, 0, bytes, 0);
  }

  /** Notes it and waits for the disk: where a check begins or was overruled, not for each group. */
  noteDurably(groupNo: number): void {
    this.#write(groupNo);
    fsyncSync(this.#handle);
  }

  close(): void {
    closeSync(this.#handle);
  }
}
