/** Folders whose entries are durable: syncing a new file says nothing about its name. */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export function syncFolder(dir: string): void {
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the folder and those that it lies in, unless they are there; the names of new ones are durable then. */
export function makeFolder(dir: string): void {
  const first = mkdirSync(dir, { recursive: true });
  if (first === undefined) return;
  for (let made = resolve(dir); made.length >= first.length; made = dirname(made)) {
    try {
      syncFolder(dirname(made));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error; // it may be written and not read
    }
  }
}
