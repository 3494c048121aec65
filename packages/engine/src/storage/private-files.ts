/**
 * Files that only their owner may read or write, whatever the umask: they hold everybody's payloads. Files from before are
 * tightened when they are opened. Nothing here opens a file: closing a descriptor drops the locks that SQLite holds on it.
 */
import { chmodSync, statSync } from 'node:fs';

export const privateFileMode = 0o600;
export const privateFolderMode = 0o700;

/** Makes an existing file private to its owner. A file of another user stays as it is: its permissions are that owner's decision. */
export function makePrivate(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o077) === 0 || stats.uid !== process.getuid?.()) return;
  chmodSync(path, stats.mode & 0o700); // what its owner may not write stays so
}

/** Before anything is written. The log and its index get the permissions of the file from SQLite, unless they exist. */
export function makeSqliteFilePrivate(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) makePrivate(path + suffix);
}
