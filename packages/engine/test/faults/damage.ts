/** Damages files that no process has open. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';

export const pageBytes = 16_384;

/** Overwrites bytes of a file with different ones. */
export function overwrite(path: string, at: number, length = 1): void {
  const handle = openSync(path, 'r+');
  const bytes = Buffer.alloc(length);
  const read = readSync(handle, bytes, 0, length, at);
  for (let i = 0; i < read; i += 1) bytes[i] = bytes[i]! ^ 0x5a;
  writeSync(handle, bytes, 0, read, at);
  closeSync(handle);
}

/** Destroys the first bytes of a table's root page, so that nothing in the table can be read. */
export function smashTable(path: string, table: string): void {
  const file = new Database(path);
  file.pragma('wal_checkpoint(TRUNCATE)');
  const root = file.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table) as number;
  file.close();
  overwrite(path, (root - 1) * pageBytes, 64);
}

/** Changes bytes at each place where the file contains the text. */
export function overwriteText(path: string, content: string): void {
  const handle = openSync(path, 'r');
  const bytes = Buffer.alloc(64 * 1024 * 1024);
  const length = readSync(handle, bytes, 0, bytes.length, 0);
  closeSync(handle);
  let found = 0;
  for (let at = bytes.indexOf(content); at >= 0 && at < length; at = bytes.indexOf(content, at + 1)) {
    overwrite(path, at);
    found += 1;
  }
  if (found === 0) throw new Error(`${path} has no ${content}`);
}
