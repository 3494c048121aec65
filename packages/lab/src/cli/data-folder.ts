/** Where what outlives a run is kept: beside the server's data. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ofTheCheckout = fileURLToPath(new URL('../../../../data/', import.meta.url));

/** The folder of `--data-dir`, of `DATA_DIR`, or `data` in the checkout. */
export function dataFolder(flag: string | undefined): string {
  const base = process.env.INIT_CWD ?? process.cwd();
  const named = flag ?? process.env.DATA_DIR;
  return named === undefined || named === '' ? ofTheCheckout : resolve(base, named);
}
