/**
 * Builds the engine as the package that npm publishes, in a folder of its own: its code bundled as JavaScript, a file for each
 * program that it starts (`program-files.ts`), the types of what is public, and a `package.json` without what only this repository uses.
 * The bundles are for the time of a start: Node finds, reads and links a few files instead of 450.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { programSources } from '../packages/engine/src/program-files.ts';
import { giveUp, inRoot, run } from './run.mjs';

const engine = inRoot('packages', 'engine');

/** What a program can import, by the name of its file. `@shardlab/jetstream` uses further parts of the sources, and is not published. */
const entries = { index: 'index.ts', 'thread-session': 'contention/open-thread-session.ts' };

const { name, version, description, license, type, engines, dependencies } = JSON.parse(
  readFileSync(join(engine, 'package.json'), 'utf8'),
);

const isForeign = (/** @type {string} */ id) => isBuiltin(id) || Object.hasOwn(dependencies, id);

async function build(/** @type {string} */ folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await bundleCode(folder);
  await declareTypes(folder);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  writeFileSync(join(folder, 'README.md'), readme());
  copyFileSync(inRoot('LICENSE'), join(folder, 'LICENSE'));
}

/** Node before 20.15 has no `crc32`: importing it by name would fail before `supported-node.ts` can refuse that Node in a sentence. */
const lateCrc32 = {
  name: 'late-crc32',
  transform: {
    filter: { code: "import { crc32 } from 'node:zlib'" },
    handler: (/** @type {string} */ code) =>
      code.replace(
        "import { crc32 } from 'node:zlib'",
        "import zlib from 'node:zlib';\nconst { crc32 } = zlib",
      ),
  },
};

/** Apart, what instances and what threads need: shared files of both would be more and smaller, each a millisecond of a start. */
async function bundleCode(/** @type {string} */ folder) {
  const programs = Object.entries(programSources).map(([program, file]) => [`programs/${program}`, file]);
  const ofInstances = programs.filter(([program]) => program === 'programs/instance-process');
  const ofThreads = programs.filter((program) => !ofInstances.includes(program));
  for (const files of [{ ...entries, ...Object.fromEntries(ofInstances) }, Object.fromEntries(ofThreads)]) {
    const input = inputOf(files, (file) => join(engine, 'src', file));
    const bundled = await rolldown({ input, platform: 'node', plugins: [lateCrc32], external: isForeign });
    // Not minified: Node prints the line of an error that nobody catches. Comments are in the types.
    await bundled.write({ dir: folder, comments: false, chunkFileNames: '[name]-[hash].js' });
    await bundled.close();
  }
}

/** One file of types for each entry, with only what is public; checked against the oldest Node on the way. */
async function declareTypes(/** @type {string} */ folder) {
  const all = join(folder, 'all-types');
  if (!run('tsc', ['-p', join(engine, 'tsconfig.package.json'), '--outDir', all]))
    giveUp('the types of the engine could not be built; the message is above');
  const input = inputOf(entries, (file) => join(all, 'src', file.replace(/\.ts$/, '.d.ts')));
  const plugins = [dts({ dtsOnly: true, generator: 'oxc', tsconfig: false })];
  const bundled = await rolldown({ input, plugins, external: isForeign });
  await bundled.write({ dir: folder, banner: '/// <reference types="node" />', chunkFileNames: '[name].js' });
  await bundled.close();
  rmSync(all, { recursive: true });
}

/** @param {Record<string, string>} files @param {(file: string) => string} pathOf */
function inputOf(files, pathOf) {
  return Object.fromEntries(Object.entries(files).map(([entry, file]) => [entry, pathOf(file)]));
}

function manifest() {
  const byPath = Object.keys(entries).map((entry) => [
    entry === 'index' ? '.' : `./${entry}`,
    { types: `./${entry}.d.ts`, default: `./${entry}.js` },
  ]);
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    main: './index.js',
    types: './index.d.ts',
    exports: { ...Object.fromEntries(byPath), './package.json': './package.json' },
    files: ['*.js', '*.d.ts', 'programs'],
    dependencies,
  };
}

/**
 * What the repository's own page says about a queue in a program, without the commands of the repository, and with links as plain text:
 * they lead to files of the repository.
 */
function readme() {
  const page = readFileSync(inRoot('README.md'), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith('A queue in your program\n')) ?? '';
  const text = section.replaceAll(/^ {4}.*\n+/gm, '').replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
  return `# ${name}\n\n${description}.\n\n## ${text.trimEnd()}\n`;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) giveUp('usage: node scripts/build-engine.mjs <folder>, which is emptied first');
else await build(resolve(folder));
