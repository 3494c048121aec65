/**
 * Makes tests import the sources of all packages from bundles, which Node loads: otherwise each test file transforms and links
 * the engine's 200 modules in its own process, which is half a second of CPU, and those of the server a second and a half.
 */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = new URL('../../node_modules/.shardlab/bundles/', import.meta.url);
const table = new URL('table.json', folder);

/**
 * Undefined unless this process runs from bundles itself, as `npm test` has it: `npx vitest` loads sources. Throws if a source
 * has changed since the bundles were made.
 */
export function importBundles(): Plugin | undefined {
  if (!process.env.NODE_OPTIONS?.includes('bundles/redirect.mjs') || !existsSync(table)) return undefined;
  assertNoneChanged();
  const { imported }: { imported: Record<string, string> } = JSON.parse(readFileSync(table, 'utf8'));
  return {
    name: 'import-bundles',
    enforce: 'pre',
    async resolveId(specifier, importer, options) {
      const resolved = await this.resolve(specifier, importer, { ...options, skipSelf: true });
      const bundle = resolved ? imported[pathToFileURL(resolved.id).href] : undefined;
      return bundle === undefined ? resolved : { id: fileURLToPath(new URL(bundle, folder)), external: true };
    },
  };
}

function assertNoneChanged(): void {
  const { mtimeMs } = statSync(table);
  const changed = globSync('{packages,apps}/*/src/**/*.ts', { cwd: root, exclude: ['apps/web/**'] }).find(
    (file) => statSync(join(root, file)).mtimeMs > mtimeMs,
  );
  if (changed !== undefined)
    throw new Error(`${changed} has changed since the bundles were made: node scripts/bundles/build.mjs`);
}
