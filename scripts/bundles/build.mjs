/**
 * Bundles what the tests start as a process or a thread, with all that it imports from this repository: Node then finds, reads
 * and links about 15 modules instead of 200, which is most of the CPU of a start. `redirect.mjs` has the bundles loaded.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { inRoot } from '../run.mjs';
import { findEntries } from './entries.mjs';

const folder = inRoot('node_modules', '.shardlab', 'bundles');
const table = join(folder, 'table.json');
/** Packages of the registry with hundreds of modules; the others are loaded as they are. */
const manyModules = ['typebox'];

/** In a bundle a module still says where its source is: it finds files beside that. */
const keepUrls = {
  name: 'keep-urls',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (/** @type {string} */ code, /** @type {string} */ id) =>
      code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

async function build() {
  rmSync(folder, { recursive: true, force: true });
  const bundle = await rolldown({
    input: [...findEntries(), ...manyModules.map((name) => fileURLToPath(import.meta.resolve(name)))],
    platform: 'node',
    plugins: [keepUrls],
    external: (id) => !/^(\.|\/|@shardlab\/)/.test(id) && !manyModules.includes(id),
  });
  const { output } = await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name]-[hash].mjs' });
  await bundle.close();
  const bundles = output.flatMap((chunk) =>
    chunk.type === 'chunk' && chunk.isEntry && chunk.facadeModuleId !== null
      ? [[pathToFileURL(chunk.facadeModuleId).href, chunk.fileName]]
      : [],
  );
  writeFileSync(table, JSON.stringify({ bundles: Object.fromEntries(bundles) }, null, 2));
}

await build();
