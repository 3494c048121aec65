/** The folders and files that commands are given, and the folder for data that outlives a run, which is the server's. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { QueueError } from '@shardlab/engine';

const checkoutDataFolder = fileURLToPath(new URL('../../../../data/', import.meta.url));

/** Where the caller is: npm runs scripts in the folder of the package, and INIT_CWD names the folder of whoever called it. */
export const callersFolder = (): string => process.env.INIT_CWD ?? process.cwd();

/** The absolute path of a file or folder that the caller named. */
export const fromCaller = (path: string): string => resolve(callersFolder(), path);

/** The folder named by `--data-dir`, else by `DATA_DIR`, else `data` in the checkout. */
export function dataFolder(flag: string | undefined): string {
  const named = flag ?? process.env.DATA_DIR;
  return named === undefined || named === '' ? checkoutDataFolder : fromCaller(named);
}

/** Writes a value as JSON to a file that the caller named, and creates its folder. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const file = fromCaller(path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Accepts the engine's folder, or the data folder of a server, which contains it as `cluster/`. */
export function clusterFolder(named: string): string {
  const dir = fromCaller(named);
  const within = join(dir, 'cluster');
  return !existsSync(join(dir, 'catalog.db')) && existsSync(within) ? within : dir;
}

/** Throws `OPTIONS_INVALID` for a folder without any file of the engine, and for one that does not exist. */
export function assertHasQueues(dir: string): void {
  if (existsSync(dir) && readdirSync(dir).some((name) => name.endsWith('.db'))) return;
  throw new QueueError('OPTIONS_INVALID', { message: `There are no queues in the folder ${dir}` });
}
