import { statSync } from 'node:fs';

/** Bytes of a file's write-ahead log on the disk, also of what a checkpoint has copied; 0 if there is none. A few µs. */
export function logBytesOf(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
