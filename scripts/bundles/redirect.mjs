/**
 * Preloaded by the processes and threads that tests start (`--import`): one whose entry file has a bundle loads the bundle.
 * What a test imports itself are the sources.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const folder = new URL('../../node_modules/.shardlab/bundles/', import.meta.url);

/** @type {{ bundles: Record<string, string> }} File names by the URL of the entry's source. */
const { bundles } = JSON.parse(readFileSync(new URL('table.json', folder), 'utf8'));

registerHooks({
  resolve(specifier, context, nextResolve) {
    // Only what a process or a thread starts with has no parent.
    const bundle = context.parentURL === undefined ? bundles[specifier] : undefined;
    if (bundle === undefined) return nextResolve(specifier, context);
    return { url: new URL(bundle, folder).href, format: 'module', shortCircuit: true };
  },
});
