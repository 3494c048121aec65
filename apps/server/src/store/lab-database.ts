/**
 * The server's own file, `lab.db` in the data folder: run history, uploaded scenarios and the history of queues. WAL with
 * `synchronous` NORMAL: it survives a killed process; a power failure may lose the last moments, which is acceptable. The queues
 * need nothing of it, so they are served whatever state it is in.
 */
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { ServerError } from '../errors.ts';
import { limits } from '../limits.ts';
import { makePrivate } from './data-dir.ts';

export type LabDatabase = Database.Database;

export const formatVersion = 7;
/** Has all but the table of the queues' history, which is added to it. */
const formatWithoutSamples = 6;

const queueSampleTable = `
  CREATE TABLE queue_sample (
    range TEXT NOT NULL,                      -- 10m, 1h or 24h
    at_ms INTEGER NOT NULL,                   -- of the newest sample
    queue TEXT NOT NULL,
    body TEXT NOT NULL,                       -- JSON, samples of a few seconds in order
    PRIMARY KEY (range, at_ms, queue)         -- samples that are too old are all at one end
  ) STRICT, WITHOUT ROWID;
`;

const schema = `
  CREATE TABLE run (
    run_number INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of the history
    id TEXT NOT NULL UNIQUE,
    scenario_id TEXT NOT NULL,
    scenario_title TEXT NOT NULL,
    scenario TEXT NOT NULL,                   -- JSON, as the run was started with
    scale TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    ended_at_ms INTEGER,
    updated_at_ms INTEGER NOT NULL,           -- taken as the end of a run whose server was killed
    progress TEXT NOT NULL,                   -- JSON
    claims TEXT NOT NULL,                     -- JSON
    environment TEXT,                         -- JSON
    watched INTEGER NOT NULL,
    error TEXT,                               -- JSON
    name TEXT NOT NULL DEFAULT '',            -- what a user calls it
    note TEXT NOT NULL DEFAULT '',
    baseline INTEGER NOT NULL DEFAULT 0,      -- 1: others of its scenario are compared with it
    imported INTEGER NOT NULL DEFAULT 0       -- 1: measured elsewhere
  ) STRICT;
  CREATE TABLE point (
    run_number INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    body TEXT NOT NULL,                       -- JSON
    PRIMARY KEY (run_number, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE tick (
    run_number INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    tick_number INTEGER NOT NULL,
    body TEXT NOT NULL,                       -- JSON
    PRIMARY KEY (run_number, tick_number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE scenario (
    id TEXT PRIMARY KEY,
    body TEXT NOT NULL,                       -- JSON
    uploaded_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  ${queueSampleTable}
`;

export interface OpenedLab {
  file: LabDatabase;
  /** What is wrong with the history as a whole, in sentences. */
  notices: string[];
  /** Whether the path still leads to the file that is open. */
  isInPlace(): Promise<boolean>;
}

/**
 * Opens or creates the file in the data folder. One that is damaged is set aside, under a name with the time, and another is begun. If
 * that cannot be done either, or the file cannot be opened for another reason, what the lab stores is kept until the server ends, in a
 * temporary file. Throws `HISTORY_FORMAT_NEWER` or `HISTORY_FORMAT_OLDER`, leaving the file untouched.
 */
export function openLab(dataDir: string, nowMs: number): OpenedLab {
  const path = join(dataDir, 'lab.db');
  try {
    const file = openOrSetAside(path, nowMs);
    const opened = statSync(path);
    return {
      file,
      notices: setAside(path).map((name) => `${name} is ${setAsideInWords}`),
      // To open and close the file would drop the locks that SQLite holds on it.
      async isInPlace() {
        const found = await stat(path).catch(() => undefined);
        return found?.dev === opened.dev && found.ino === opened.ino;
      },
    };
  } catch (error) {
    if (isOfFormat(error)) throw error;
    const file = new Database(''); // SQLite deletes it when it is closed
    prepare(file, path);
    const { message } = ((error as Error).cause ?? error) as Error; // clients are not told of paths
    const notices = [
      `The run history cannot be opened (${message}): what the lab stores now is lost when the server ends`,
    ];
    return { file, notices, isInPlace: async () => true };
  }
}

const setAsideInWords =
  'a run history that could not be read: it was set aside, and can be deleted when nobody wants to look at it';

function openOrSetAside(path: string, nowMs: number): LabDatabase {
  try {
    return openLabDatabase(path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const asideName = `${path}.damaged-${new Date(nowMs).toISOString().replaceAll(':', '-')}`;
    // The log first: SQLite would take one that stays behind for that of the new file.
    for (const suffix of ['-wal', '-shm', ''])
      if (existsSync(path + suffix)) renameSync(path + suffix, asideName + suffix);
    return openLabDatabase(path);
  }
}

/** The names of the files that were set aside, now or by an earlier start. */
function setAside(path: string): string[] {
  const isOne = (name: string) => name.startsWith(`${basename(path)}.damaged-`) && name.endsWith('Z');
  return readdirSync(dirname(path)).filter(isOne).toSorted();
}

function isDamage(error: unknown): boolean {
  const cause = error instanceof ServerError ? error.cause : error;
  return cause instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB|ERROR)/.test(cause.code);
}

const isOfFormat = (error: unknown) =>
  error instanceof ServerError &&
  (error.code === 'HISTORY_FORMAT_NEWER' || error.code === 'HISTORY_FORMAT_OLDER');

/** Opens or creates the file. Throws `HISTORY_FORMAT_NEWER` or `HISTORY_FORMAT_OLDER`, leaving the file untouched, or `DATA_DIR_UNUSABLE`. */
export function openLabDatabase(path: string): LabDatabase {
  let file: LabDatabase | undefined;
  try {
    file = new Database(path);
    makePrivate(path); // before the log exists, which gets the same permissions
    prepare(file, path);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes <= limits.historyCheckedBytes) assertWhole(file);
    return file;
  } catch (error) {
    file?.close();
    if (error instanceof ServerError) throw error;
    throw new ServerError('DATA_DIR_UNUSABLE', {
      message: `The run history ${path} cannot be opened: ${(error as Error).message}`,
      details: { path },
      cause: error,
    });
  }
}

function prepare(file: LabDatabase, path: string): void {
  const found = file.pragma('user_version', { simple: true }) as number;
  if (![0, formatWithoutSamples, formatVersion].includes(found)) throw formatError(path, found);
  file.pragma('journal_mode = WAL');
  file.pragma('synchronous = NORMAL');
  file.pragma('foreign_keys = ON');
  if (found === 0) createTables(file, schema);
  if (found === formatWithoutSamples) createTables(file, queueSampleTable);
}

/** Throws SQLite's error if a table is missing or a page of any is damaged. */
function assertWhole(file: LabDatabase): void {
  file.prepare('SELECT 1 FROM run, point, tick, scenario, queue_sample LIMIT 0').all();
  const fault = file.pragma('quick_check(1)', { simple: true });
  if (fault !== 'ok') throw new Database.SqliteError(String(fault), 'SQLITE_CORRUPT');
}

function formatError(path: string, found: number): ServerError {
  const isNewer = found > formatVersion;
  return new ServerError(isNewer ? 'HISTORY_FORMAT_NEWER' : 'HISTORY_FORMAT_OLDER', {
    message: `${path} has format ${found}, written by ${isNewer ? 'a newer' : 'an older'} version; this version reads format ${formatVersion} and leaves the file untouched`,
    details: { path, found, known: formatVersion },
  });
}

function createTables(file: LabDatabase, tables: string): void {
  file
    .transaction(() => {
      file.exec(tables);
      file.pragma(`user_version = ${formatVersion}`);
    })
    .immediate();
}
