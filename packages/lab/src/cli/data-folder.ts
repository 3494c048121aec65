/** The folder for data that outlives a run. It is the server's data folder. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkoutDataFolder = fileURLToPath(new URL('../../../../data/', import.meta.url));

/** The folder named by `--data-dir`, else by `DATA_DIR`, else `data` in the checkout. */
export function dataFolder(flag: string | undefined): string {
  const base = process.env.INIT_CWD ?? process.cwd();
  const named = flag ?? process.env.DATA_DIR;
  return named === undefined || named === '' ? checkoutDataFolder : resolve(base, named);
}

/** Accepts the engine's folder, or the data folder of a server, which contains it as `cluster/`. */
export function clusterFolder(dir: string): string {
  const within = join(dir, 'cluster');
  return !existsSync(join(dir, 'catalog.db')) && existsSync(within) ? within : dir;
}
