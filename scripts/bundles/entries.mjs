/** Finds the files that tests start as a process or a thread by how sources name them, so that no list has to be kept. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inRoot, root } from '../run.mjs';
import { importsOf, readEntries } from '../test-projects.ts';

const sources = '{packages,apps}/*/{src,test}/**/*.ts';
const tests = '{packages,apps}/*/test/**/*.ts';
const storageThreads =
  'packages/engine/src/storage/threads/{heartbeat,reader,scrub,watchdog,writer}-thread.ts';
/** Matches a file that is named without being imported, as in `new URL('./worker.ts', import.meta.url)`. */
const named = /(?<!\b(?:from|import)\s+|\bimport\()['`](\.{1,2}\/[\w./-]+)(?:\.ts|\$\{extension\})['`]/g;

/** The package of a store, which the engine imports by a name that the bundler cannot see. */
const store = inRoot('packages', 'jetstream', 'src', 'index.ts');

/** The files of storage threads, which are bundled apart. */
export function findThreads() {
  return globSync(storageThreads, { cwd: root }).map((file) => inRoot(file));
}

/** The modules of all packages that tests import. */
export function findImported() {
  const packages = readEntries(root);
  const imported = new Set([...findStudies(), store]);
  for (const file of globSync(tests, { cwd: root, exclude: ['apps/web/**'] })) {
    for (const { specifier } of importsOf(readFileSync(inRoot(file), 'utf8'))) {
      const target = specifier.startsWith('.')
        ? resolve(root, dirname(file), specifier)
        : packages.get(specifier);
      if (target?.includes('/src/') && target.endsWith('.ts') && existsSync(target)) imported.add(target);
    }
  }
  return [...imported];
}

/** The studies in a folder of the lab's package, which are imported by addresses that are computed at run time. */
function findStudies(folder = 'src/studies') {
  return globSync(`packages/lab/${folder}/*/study.ts`, { cwd: root }).map((file) => inRoot(file));
}

/** All other files that are started, and a few that are only read, whose bundles are not used. */
export function findEntries() {
  const entries = new Set([...findStudies(), ...findStudies('test/toy-studies'), store]);
  const threads = findThreads();
  for (const file of globSync(sources, { cwd: root, exclude: ['apps/web/**'] })) {
    for (const [, name] of readFileSync(inRoot(file), 'utf8').matchAll(named)) {
      const entry = resolve(root, dirname(file), `${name}.ts`);
      if (!entry.endsWith('.test.ts') && !threads.includes(entry) && existsSync(entry)) entries.add(entry);
    }
  }
  return [...entries];
}
