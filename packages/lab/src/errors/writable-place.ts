/** Whether a file or folder can be written later: a run measures for hours before it writes its result. Nothing is created. */
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { exitCodes } from './exit-codes.ts';

/** Why the file cannot be written, as a sentence; undefined if it can. Missing folders on the way are no fault. */
export function fileFault(file: string): string | undefined {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing === undefined) return folderFault(dirname(file), file);
    if (existing.isDirectory()) return `${file} cannot be written: it is a folder`;
    if (!existing.isFile()) return undefined; // opening a pipe has effects on its reader
    closeSync(openSync(file, 'r+'));
    return undefined;
  } catch (error) {
    return `${file} cannot be written: ${(error as Error).message}`;
  }
}

/** The same of a folder; `place` is what is to be written there. */
export function folderFault(folder: string, place = folder): string | undefined {
  const cannot = `${place} cannot be written`;
  try {
    const above = nearest(folder);
    if (lstatSync(above, { throwIfNoEntry: false }) !== undefined && !existsSync(above))
      return `${cannot}: ${above} is a link to what is not there`;
    if (!statSync(above).isDirectory()) return `${cannot}: ${above} is no folder`;
    rmdirSync(mkdtempSync(join(above, '.shardlab-')));
    return undefined;
  } catch (error) {
    return `${cannot}: ${(error as Error).message}`;
  }
}

/** Makes a folder for data in `parent`. Ends the process if that or the file of the result cannot be written. */
export function makeDataFolder(
  prefix: string,
  { parent, json }: { parent: string; json?: string | undefined },
) {
  const fault = (json === undefined ? undefined : fileFault(resolve(json))) ?? folderFault(resolve(parent));
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    process.exit(exitCodes.usage);
  }
  mkdirSync(resolve(parent), { recursive: true });
  return mkdtempSync(join(resolve(parent), prefix));
}

/** The folder itself or the first one above it that exists, if only as a link. */
function nearest(folder: string): string {
  let path = folder;
  while (lstatSync(path, { throwIfNoEntry: false }) === undefined && dirname(path) !== path)
    path = dirname(path);
  return path;
}
