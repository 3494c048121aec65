/** Which instances of a trial share a folder. They are one cluster then, with one file for the application's tables. */
import { join } from 'node:path';
import type { XaParams } from './xa-params.ts';

/**
 * Of the instances in one folder, only one has the tables in its file. Tightly coupled branches can insert there from any
 * instance; all other transactions that insert rows on two instances need tables on both, and therefore a folder for each.
 */
const hasTablesEach = ({ work, instances, coupling, transaction }: XaParams): boolean =>
  work === 'insert' && instances > 1 && !(transaction === 'two-branches' && coupling !== 'loose');

export const folderOf = (dir: string, params: XaParams, instance: number): string =>
  hasTablesEach(params) ? join(dir, `instance-${instance}`) : dir;

/** The first instance of each folder: it creates the queues and tables. */
export const firstOfFolders = <T>(params: XaParams, all: readonly T[]): readonly T[] =>
  hasTablesEach(params) ? all : all.slice(0, 1);

/** Whether an instance can pass calls about branches on to another one: it can within its folder. */
export const passesCallsOn = (params: XaParams): boolean => params.instances > 1 && !hasTablesEach(params);
