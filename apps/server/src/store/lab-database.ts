/**
 * The server's own file, `lab.db` in the data folder: run history, uploaded scenarios and the history of queues. WAL with
 * `synchronous` NORMAL: it survives a killed process; a power failure may lose the last moments, which is acceptable.
 */
import Database from 'better-sqlite3';
import { ServerError } from '../errors.ts';
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

/** Opens or creates the file. Throws `HISTORY_FORMAT_NEWER` or `HISTORY_FORMAT_OLDER`, leaving the file untouched, or `DATA_DIR_UNUSABLE`. */
export function openLabDatabase(path: string): LabDatabase {
  let file: LabDatabase | undefined;
  try {
    file = new Database(path);
    makePrivate(path); // before the log exists, which gets the same permissions
    const found = file.pragma('user_version', { simple: true }) as number;
    if (![0, formatWithoutSamples, formatVersion].includes(found)) throw formatError(path, found);
    file.pragma('journal_mode = WAL');
    file.pragma('synchronous = NORMAL');
    file.pragma('foreign_keys = ON');
    if (found === 0) createTables(file, schema);
    if (found === formatWithoutSamples) createTables(file, queueSampleTable);
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
