/**
 * The segments of a redo log as files beside the instance's file: `instance-1.db` has `instance-1.redo-0`, `instance-1.redo-1` and so
 * on. A new one is written with zeroes and synced with its name, so that later syncs carry no metadata. Zeroes, not a hole: writing
 * into a hole changes the map of the file, which each sync would have to write as well.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import { makePrivate, privateFileMode } from '../private-files.ts';
import { syncFolder } from '../sqlite/sync-folder.ts';

/** A segment that SQLite lists: its number in the file's name, and its size. */
export interface SegmentRow {
  number: number;
  bytes: number;
}

export interface OpenSegment extends SegmentRow {
  descriptor: number;
}

export const segmentPath = (databasePath: string, number: number): string =>
  databasePath.replace(/\.db$/, `.redo-${number}`);

/** Whether a file of this name, beside the database, is a segment of its log. */
export const isSegmentOf = (databasePath: string, name: string): boolean =>
  name.startsWith(basename(databasePath).replace(/\.db$/, '.redo-'));

/**
 * Written page by page: Linux caches what one write brought as one folio, and counts all of that as written each time that a record
 * changes a part of it, so that a process would seem to write a thousand times what reaches the disk.
 */
const zeroes = Buffer.alloc(4096);

/**
 * Makes the file, empty, in place of one that an earlier attempt left and that was never listed: a process that has lost the instance may
 * still write to that one.
 */
export function beginSegment(databasePath: string, row: SegmentRow): OpenSegment {
  const path = segmentPath(databasePath, row.number);
  rmSync(path, { force: true });
  return { ...row, descriptor: openSync(path, 'wx', privateFileMode) };
}

/** Fills the file and closes it. Durable when it returns. Throws `STORAGE_FULL`, and the errors of writing. */
export function fillSegment(databasePath: string, { number, bytes, descriptor }: OpenSegment): void {
  const path = segmentPath(databasePath, number);
  try {
    makePrivate(path);
    for (let at = 0; at < bytes; )
      at += writeSync(descriptor, zeroes, 0, Math.min(zeroes.length, bytes - at), at);
    fsyncSync(descriptor);
  } catch (error) {
    ftruncateSync(descriptor); // not its name, which may be another file's by now
    throw isNoSpace(error) ? new QueueError('STORAGE_FULL', { details: { path }, cause: error }) : error;
  } finally {
    closeSync(descriptor);
  }
  syncFolder(dirname(path));
}

/** The disk or a quota of it is full. */
export function isNoSpace(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Throws `COMMITS_MISSING` if the file is gone or shorter than listed: it was synced before it was listed. */
export function openSegment(databasePath: string, row: SegmentRow): OpenSegment {
  const path = segmentPath(databasePath, row.number);
  const found = existsSync(path) ? statSync(path).size : undefined;
  if (found === undefined || found < row.bytes)
    throw new QueueError('COMMITS_MISSING', {
      message:
        found === undefined
          ? `${path} is missing, which is a part of the redo log`
          : `${path} has ${found} bytes, and ${row.bytes} were written`,
      details: { path },
    });
  makePrivate(path);
  return { ...row, descriptor: openSync(path, 'r+') };
}

export const closeSegment = ({ descriptor }: OpenSegment): void => closeSync(descriptor);

/** Fills `target` from the segment; what lies behind its end stays as it is. Returns the bytes read. Throws the errors of reading. */
export function readSegment({ descriptor, bytes }: OpenSegment, target: Buffer, offset: number): number {
  const wanted = Math.min(target.length, bytes - offset);
  let read = 0;
  while (read < wanted) {
    const count = readSync(descriptor, target, read, wanted - read, offset + read);
    if (count === 0) break;
    read += count;
  }
  return read;
}
