/**
 * Bundles the files that tests start as a process or a thread, and those that they import, with everything that these import from
 * this repository: Node then finds, reads and links about 15 modules instead of 200, which is most of the CPU of a start.
 * `redirect.mjs` loads the bundles of processes and threads, `vitest-imports.ts` those of the tests' own imports.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { inRoot } from '../run.mjs';
import { findEntries, findImported, findThreads } from './entries.mjs';
import { inlineSqlite } from './inline-sqlite.mjs';

const folder = inRoot('node_modules', '.shardlab', 'bundles');
const table = join(folder, 'table.json');
/** Packages of the registry with hundreds of modules: all bundles include them. */
const manyModules = ['typebox'];
const always = [...manyModules, 'better-sqlite3'];

/** Other packages that processes of the lab and servers load: from files of their own they take a fifth of the CPU of a start. */
const ofProcesses = [
  '@fastify/static',
  '@fastify/swagger',
  '@nats-io/jetstream',
  '@nats-io/transport-node',
  'ajv',
  'croner',
  'fastify',
  'hdr-histogram-js',
  'prom-client',
];

/**
 * Each of these packages becomes one file, whichever of its modules a test imports. The lab and packages that import it cannot: its
 * registry imports studies while it loads, and these would wait for the file that contains the registry.
 */
const groups = ['engine', 'model', 'contract'].map((name) => ({
  name,
  test: new RegExp(`/packages/${name}/src/`),
}));

/** Makes `import.meta.url` in a bundled module the address of its source, because the module finds files in the same folder. */
const keepUrls = {
  name: 'keep-urls',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (/** @type {string} */ code, /** @type {string} */ id) =>
      code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/** `hdr-histogram-js` hides from bundlers that it uses zlib; in a bundle it would use a slower library instead. */
const visibleRequire = {
  name: 'visible-require',
  transform: {
    filter: { code: `eval('require("zlib")` },
    handler: (/** @type {string} */ code) => code.replaceAll(/eval\('(require\("zlib"\)\.\w+)'\)/g, '$1'),
  },
};

/**
 * One module for all entries that need it. `groups`: modules that go into one file, whichever entries need
 * them. `inlined`: packages of the registry that become part of it. Returns file names by the URL of the entry's source.
 * @param {string[]} input @param {{ groups?: { name: string, test: RegExp }[], inlined?: string[] }} [options]
 */
async function bundle(input, { groups = [], inlined = always } = {}) {
  const bundled = await rolldown({
    input,
    platform: 'node',
    plugins: [inlineSqlite, keepUrls, visibleRequire],
    external: (id, importer = '') => {
      if (isBuiltin(id)) return true;
      const isOurs = /^(\.|\/|@shardlab\/)/.test(id);
      // What an inlined package needs itself becomes part of it too.
      return !isOurs && !inlined.includes(id) && !importer.includes('/node_modules/');
    },
  });
  const { output } = await bundled.write({
    dir: folder,
    format: 'esm',
    // Without comments files are smaller, and Node reads, decodes and hashes a file as a whole at each start.
    comments: false,
    // For `.mjs` Node need not look up the type of module in a `package.json`.
    entryFileNames: '[name]-[hash].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    ...(groups.length > 0 && { codeSplitting: { groups } }),
  });
  await bundled.close();
  return Object.fromEntries(
    output.flatMap((chunk) =>
      chunk.type === 'chunk' && chunk.isEntry && chunk.facadeModuleId !== null
        ? [[pathToFileURL(chunk.facadeModuleId).href, chunk.fileName]]
        : [],
    ),
  );
}

rmSync(folder, { recursive: true, force: true });
const packages = manyModules.map((name) => fileURLToPath(import.meta.resolve(name)));
// Each thread has a bundle of its own, so that Node links one module only.
const threads = await Promise.all(findThreads().map((file) => bundle([file])));
const processes = await bundle([...findEntries(), ...packages], { inlined: [...always, ...ofProcesses] });
const bundles = Object.assign(processes, ...threads);
// SQLite is not inlined here: tests open database files themselves, and the engine must recognize errors of the same SQLite module.
const imported = await bundle([...findImported(), ...packages], { groups, inlined: manyModules });
writeFileSync(table, JSON.stringify({ bundles, threads: Object.assign({}, ...threads), imported }, null, 2));
