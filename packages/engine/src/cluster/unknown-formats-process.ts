/**
 * Prints, as JSON, those of the SQLite files named as arguments whose header names a later format for writers
 * (https://sqlite.org/fileformat2.html, section 1.3); not those that cannot be read. `unknown-formats.ts` starts it.
 */
import { closeSync, openSync, readSync } from 'node:fs';

/** Position of the write version: 1 with a rollback journal, 2 with a write-ahead log. */
const writeVersionAt = 18;
const writeVersionMax = 2;

function isOfUnknownFormat(path: string): boolean {
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

process.stdout.write(JSON.stringify(process.argv.slice(2).filter(isOfUnknownFormat)));
