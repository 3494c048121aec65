import { statSync } from 'node:fs';

/** Size of a file's write-ahead log on the disk, including checkpointed frames; 0 if there is no log. Takes a few µs. */
export function logBytesOf(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
