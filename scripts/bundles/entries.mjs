/** Which files tests start as a process or a thread, found by how they are named, so that a new one needs no list. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { inRoot, root } from '../run.mjs';
import { importsOf, readEntries } from '../test-projects.ts';

const sources = '{packages,apps}/*/{src,test}/**/*.ts';
const tests = '{packages,apps}/*/test/**/*.ts';
/** `startThread` puts their names together. */
const storageThreads = 'packages/engine/src/storage/threads/{reader,scrub,watchdog,writer}-thread.ts';
/** A file that is named without being imported: `new URL('./worker.ts', import.meta.url)`. */
const named = /(?<!\b(?:from|import)\s+|\bimport\()['`](\.{1,2}\/[\w./-]+)(?:\.ts|\$\{extension\})['`]/g;

/** Imported by the engine under a name that bundling does not see: the package of a store. */
const store = inRoot('packages', 'jetstream', 'src', 'index.ts');

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

/** Imported by an address computed at run time. `folder`: in the package of the lab. */
function findStudies(folder = 'src/studies') {
  return globSync(`packages/lab/${folder}/*/study.ts`, { cwd: root }).map((file) => inRoot(file));
}

/** All other files that are started, and a few that are only read: an unused bundle does no harm. */
export function findEntries() {
  const entries = new Set([...findStudies(), ...findStudies('test/toy-studies'), store]);
  for (const file of globSync(sources, { cwd: root, exclude: ['apps/web/**'] })) {
    for (const [, name] of readFileSync(inRoot(file), 'utf8').matchAll(named)) {
      const entry = resolve(root, dirname(file), `${name}.ts`);
      if (!entry.endsWith('.test.ts') && existsSync(entry)) entries.add(entry);
    }
  }
  return [...entries];
}
