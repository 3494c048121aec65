/** Which instances of a trial share a folder, and so are one database with one file for the application's tables. */
import { join } from 'node:path';
import type { XaParams } from './xa-params.ts';

/**
 * Instances of one folder have the tables in the file of one of them. Tightly coupled branches reach it from the others; all else that
 * inserts rows on two instances needs tables on both, hence a folder for each.
 */
const hasTablesEach = ({ work, instances, coupling, transaction }: XaParams): boolean =>
  work === 'insert' && instances > 1 && !(transaction === 'two-branches' && coupling !== 'loose');

export const folderOf = (dir: string, params: XaParams, instance: number): string =>
  hasTablesEach(params) ? join(dir, `instance-${instance}`) : dir;

/** The instances that create what a folder has once: queues and tables. */
export const firstOfFolders = <T>(params: XaParams, all: readonly T[]): readonly T[] =>
  hasTablesEach(params) ? all : all.slice(0, 1);
