/** Reads the header of a SQLite file: https://sqlite.org/fileformat2.html, section 1.3. */
import { closeSync, openSync, readSync } from 'node:fs';

/** Position of the write version: 1 with a rollback journal, 2 with a write-ahead log. */
const writeVersionAt = 18;
const writeVersionMax = 2;

/**
 * Whether the header names a later format for writers. SQLite then only reads the file, so a flipped bit looks like a
 * missing permission. False for a file that cannot be read.
 */
export function isOfUnknownFormat(path: string): boolean {
  const version = Buffer.alloc(1);
  try {
    const file = openSync(path, 'r');
    try {
      return readSync(file, version, 0, 1, writeVersionAt) === 1 && version[0]! > writeVersionMax;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}
