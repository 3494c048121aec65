/** Makes the entries of folders durable: syncing a new file does not sync its name. */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { privateFolderMode } from '../private-files.ts';

export function syncFolder(dir: string): void {
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Creates the folder and its parents if they are missing, with durable names, for their owner alone. */
export function makeFolder(dir: string): void {
  const first = mkdirSync(dir, { recursive: true, mode: privateFolderMode });
  if (first === undefined) return;
  for (let made = resolve(dir); made.length >= first.length; made = dirname(made)) {
    try {
      syncFolder(dirname(made));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error; // a folder that may be written but not read
    }
  }
}
