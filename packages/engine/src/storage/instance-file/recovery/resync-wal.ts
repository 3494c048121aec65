/**
 * Rewrites the write-ahead log of an earlier process in place and syncs it. If that process ended because a sync failed,
 * the kernel may have marked pages as clean that it could not write, although they still read well from memory. Commits
 * that build on such a log would be lost in the next power cut, even though each of them was synced. Rewritten pages are
 * dirty again, so this sync covers them (`docs/decisions/failed-sync.md`). Costs about 1.5 ms for each megabyte of log, once
 * after a crash.
 */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';

const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const bufferBytes = 1024 * 1024;

/** SQLite keeps no file locks on the log, so opening and closing it here releases none. */
export function resyncWal(file: SqliteFile): void {
  const [state] = file.pragma('wal_checkpoint(NOOP)') as { log: number }[];
  const pageBytes = file.pragma('page_size', { simple: true }) as number;
  const frames = Math.max(0, state!.log);
  if (frames === 0) return;
  const end = walHeaderBytes + frames * (frameHeaderBytes + pageBytes);
  file.exec('BEGIN IMMEDIATE'); // keeps other connections from writing to the log
  try {
    rewriteAndSync(`${file.name}-wal`, end);
  } finally {
    file.exec('ROLLBACK');
  }
}

function rewriteAndSync(path: string, end: number): void {
  const handle = openSync(path, 'r+');
  try {
    const piece = Buffer.alloc(Math.min(bufferBytes, end));
    for (let at = 0; at < end; ) {
      const read = readSync(handle, piece, 0, Math.min(piece.length, end - at), at);
      if (read === 0) break;
      writeSync(handle, piece, 0, read, at);
      at += read;
    }
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
