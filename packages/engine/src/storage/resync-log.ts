/**
 * Writes a log that an earlier process left over itself and syncs it. If that process ended because a sync failed, the
 * kernel may have dropped the pages it could not write while they still read well from memory: commits that build on
 * such a log would be gone with the next power cut, though each of them was synced. Rewritten pages are dirty again, so
 * this sync covers them (`docs/decisions/failed-sync.md`). Costs about 1.5 ms a megabyte of log, once after a crash.
 */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { SqliteFile } from './sqlite.ts';

const headerBytes = 32;
const frameHeaderBytes = 24;
const pieceBytes = 1024 * 1024;

/** The log has no locks of its own, so opening it beside SQLite releases none. */
export function resyncLog(file: SqliteFile): void {
  const [state] = file.pragma('wal_checkpoint(NOOP)') as { log: number }[];
  const pageBytes = file.pragma('page_size', { simple: true }) as number;
  const frames = Math.max(0, state!.log);
  if (frames === 0) return;
  const end = headerBytes + frames * (frameHeaderBytes + pageBytes);
  file.exec('BEGIN IMMEDIATE'); // nobody else writes to the log meanwhile
  try {
    rewrite(`${file.name}-wal`, end);
  } finally {
    file.exec('ROLLBACK');
  }
}

function rewrite(path: string, end: number): void {
  const handle = openSync(path, 'r+');
  try {
    const piece = Buffer.alloc(Math.min(pieceBytes, end));
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
