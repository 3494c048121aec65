/** Makes the entries of a folder durable: syncing a new file says nothing about its name. */
import { closeSync, fsyncSync, openSync } from 'node:fs';

export function syncFolder(dir: string): void {
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
