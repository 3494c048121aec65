/**
 * Preloaded by `npm test` in all its processes and threads (`--import`): one whose entry file has a bundle loads the bundle.
 * What a test imports itself are the sources, and bundles of packages.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const folder = new URL('../../node_modules/.shardlab/bundles/', import.meta.url);

/** @type {{ bundles: Record<string, string> }} File names by the URL of the entry's source. */
const { bundles } = JSON.parse(readFileSync(new URL('table.json', folder), 'utf8'));

registerHooks({
  resolve(specifier, context, nextResolve) {
    // Only what a process or a thread starts with has no parent. Vitest imports packages by their URL.
    const isBundled = context.parentURL === undefined || specifier.includes('/node_modules/');
    const bundle = isBundled ? bundles[specifier] : undefined;
    if (bundle === undefined) return nextResolve(specifier, context);
    return { url: new URL(bundle, folder).href, format: 'module', shortCircuit: true };
  },
});
