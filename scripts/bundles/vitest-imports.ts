/**
 * Has a test, and the sources of other packages, import the engine from bundles, which Node loads: otherwise each test file
 * transforms and links the engine's 200 modules in its own process, which is half a second of CPU.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';

const folder = new URL('../../node_modules/.shardlab/bundles/', import.meta.url);
const table = new URL('table.json', folder);

/** Undefined unless this process runs from bundles itself, as `npm test` has it: `npx vitest` loads sources. */
export function importBundles(): Plugin | undefined {
  if (!process.env.NODE_OPTIONS?.includes('bundles/redirect.mjs') || !existsSync(table)) return undefined;
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
