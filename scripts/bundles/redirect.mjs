/**
 * Preloaded by `npm test` in all its processes and threads (`--require`, which costs a thread less than `--import`): one whose
 * entry file has a bundle loads the bundle. A test itself imports sources, except those that `vitest-imports.ts` takes from
 * bundles, and bundles of packages.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const folder = new URL('../../node_modules/.shardlab/bundles/', import.meta.url);

/** @type {Record<'bundles' | 'threads' | 'imported', Record<string, string>>} File names by the URL of the source. */
const table = JSON.parse(readFileSync(new URL('table.json', folder), 'utf8'));

/** The bundles that imports are taken from: those of processes if this process has a bundle itself, otherwise those for tests. */
let bundles = table.imported;

const hooks = registerHooks({
  resolve(specifier, context, nextResolve) {
    // Only the entry file of a process or a thread has no parent.
    if (context.parentURL === undefined) {
      if (table.bundles[specifier] !== undefined) bundles = table.bundles;
      // The bundle of a thread contains everything that the thread loads.
      if (table.threads[specifier] !== undefined) hooks.deregister();
    }
    // From one bundle to another: resolved here, because Node would look for symbolic links and packages in the file system.
    if (specifier.startsWith('./') && context.parentURL?.startsWith(folder.href))
      return { url: new URL(specifier, folder).href, format: 'module', shortCircuit: true };
    // Studies and, by Vitest, packages are imported by their URL; the package of a store by its name.
    const isNamed = specifier.startsWith('@shardlab/') && context.parentURL?.startsWith(folder.href);
    const bundle = bundles[isNamed ? nextResolve(specifier, context).url : specifier];
    if (bundle === undefined) return nextResolve(specifier, context);
    return { url: new URL(bundle, folder).href, format: 'module', shortCircuit: true };
  },
});
