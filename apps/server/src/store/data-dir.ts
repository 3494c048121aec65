/** The data folder: only its owner can read what is in it, also what an earlier version left open to others. */
import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '@shardlab/engine';
import { ServerError } from '../errors.ts';

const fileMode = 0o600;
const folderMode = 0o700;
const files = ['lab.db', 'lab.db-wal', 'lab.db-shm', 'claim-verdicts.jsonl', 'this-machine.json'];
const folders = ['cluster', 'runs'];

/** Creates the folder if it is missing. One that exists keeps its permissions: it may hold other things too. */
export function prepareDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir, folderMode);
    for (const name of folders) makePrivate(join(dataDir, name), folderMode);
    for (const name of files) makePrivate(join(dataDir, name), fileMode);
  } catch (error) {
    throw new ServerError('DATA_DIR_UNUSABLE', {
      message: `The data folder ${dataDir} cannot be created or written: ${(error as Error).message}`,
      details: { dataDir },
      cause: error,
    });
  }
}

/** Makes an existing file or folder private, if it belongs to this process's user. */
export function makePrivate(path: string, mode = fileMode): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o077) === 0 || stats.uid !== process.getuid?.()) return;
  chmodSync(path, mode);
}
