/** Makes the entries of folders durable: syncing a new file does not sync its name. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { assertName } from '../../model/call-arguments.ts';
import { privateFolderMode } from '../private-files.ts';

export function syncFolder(dir: string): void {
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Creates the folder and its parents if they are missing, with durable names; by default for their owner alone. Throws the error
 * of the system for a folder that cannot be made, and for what is there and no folder.
 *
 * Each is made by itself: Node's `recursive` never returns where the system reports `ENOENT` for a folder whose parent exists, as it
 * does below /proc and in a folder that was deleted.
 */
export function makeFolder(dir: string, mode: number = privateFolderMode): void {
  assertName('dir', dir);
  const missing: string[] = [];
  for (let path = dir; !existsSync(path); path = dirname(path)) {
    missing.unshift(path);
    if (dirname(path) === path) break;
  }
  for (const path of missing) {
    makeOne(path, mode);
    try {
      syncFolder(dirname(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error; // a folder that may be written but not read
    }
  }
  if (missing.length === 0 && !statSync(dir).isDirectory()) mkdirSync(dir, { mode }); // EEXIST
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const isMadeByAnother = (error as NodeJS.ErrnoException).code === 'EEXIST' && existsSync(path);
    if (!isMadeByAnother) throw error;
  }
}
