/** The catalog's file: one for all processes of a cluster, with queues, members and who hosts what. */
import { join } from 'node:path';
import { QueueError } from '../core/errors.ts';
import { conversionTables } from './conversion-table.ts';
import { migrate } from './format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from './sqlite.ts';
import { subscriberTables } from './subscriber-table.ts';
import { makeFolder } from './sync-folder.ts';

const steps = [
  `CREATE TABLE queue (
    queue_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: what belongs to a missing one is garbage
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('sharded', 'unsharded')),
    shards INTEGER NOT NULL,
    durability TEXT NOT NULL CHECK (durability IN ('durable', 'relaxed', 'memory')),
    enqueue_enabled INTEGER NOT NULL DEFAULT 1,
    dequeue_enabled INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE TABLE host (
    instance INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL -- tells the process from a later one of the same pid
  ) STRICT;`,

  // No claim of before is kept: a process of that version that still runs is shut out by the epoch.
  `DROP TABLE host;
  CREATE TABLE host (
    claim INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: who has an older one no longer hosts the instance
    instance INTEGER NOT NULL UNIQUE,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL,               -- boot and start time: tells the process from a later one of the same pid
    role TEXT NOT NULL CHECK (role IN ('embedded', 'home', 'guest')),
    recalled_by INTEGER,                     -- pid of the instance's own process, which is back and waits for it
    recalled_started TEXT
  ) STRICT;
  CREATE TABLE member (
    instance INTEGER PRIMARY KEY,            -- what the processes of the cluster keep served
    leaving INTEGER NOT NULL DEFAULT 0       -- 1: takes no messages any more, and is forgotten once it is empty
  ) STRICT;
  CREATE TABLE singleton (
    name TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL
  ) STRICT;
  ALTER TABLE queue ADD COLUMN type TEXT NOT NULL DEFAULT 'queue' CHECK (type IN ('queue', 'topic'));
  ALTER TABLE queue ADD COLUMN priorities INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE queue ADD COLUMN attempts_max INTEGER;       -- NULL: no limit
  ALTER TABLE queue ADD COLUMN retry_delay_ms INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE queue ADD COLUMN exception_queue_id INTEGER; -- gets what was handed out too often
  ${subscriberTables}`,

  `${conversionTables}
  CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT;
  ALTER TABLE queue ADD COLUMN forwarding INTEGER NOT NULL DEFAULT 0;
  -- messages of queues that were made before move from now on, as those of new ones do unless told otherwise
  UPDATE queue SET forwarding = 1 WHERE kind = 'sharded' AND type = 'queue' AND durability <> 'memory';
  ALTER TABLE queue ADD COLUMN cache_bytes_min INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE queue ADD COLUMN cache_bytes_max INTEGER; -- NULL: what is free
  ALTER TABLE queue ADD COLUMN correlation_index INTEGER NOT NULL DEFAULT 0`,
];

export function catalogPath(dir: string): string {
  return join(dir, 'catalog.db');
}

/** Opens or makes it, and the folder. `busyMs`: how long another process's change is waited for, blocking the thread. */
export function openCatalogFile(dir: string, busyMs: number): SqliteFile {
  const path = catalogPath(dir);
  try {
    makeFolder(dir);
  } catch (error) {
    throw new QueueError('STORAGE_READ_ONLY', { details: { path: dir }, cause: error });
  }
  const file = openSqlite({ path, busyMs });
  try {
    mapSqliteErrors(path, () => migrate(file, steps));
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}
