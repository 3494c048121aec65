/**
 * Remembers for which input a step was last done, so that a second start skips it. Stamps live in node_modules,
 * where `npm ci` removes them together with the results of the steps.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { inRoot } from './run.mjs';

const skipped = new Set(['node_modules', 'dist', 'test']);

/** @returns {Generator<string>} every file below the path, in a fixed order */
function* filesUnder(/** @type {string} */ path) {
  if (!existsSync(path)) return;
  if (statSync(path).isFile()) {
    yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) if (!skipped.has(name)) yield* filesUnder(join(path, name));
}

/** The hash of the names and contents of files and folders, with paths from the root, so that it is the same in every clone. */
export function fingerprint(/** @type {string[]} */ ...paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of filesUnder(inRoot(path)))
      hash.update(`${relative(inRoot(), file)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

const fileOf = (/** @type {string} */ step) => inRoot('node_modules', '.shardlab', step);

export function isDone(/** @type {string} */ step, /** @type {string} */ print) {
  return existsSync(fileOf(step)) && readFileSync(fileOf(step), 'utf8') === print;
}

export function setDone(/** @type {string} */ step, /** @type {string} */ print) {
  mkdirSync(dirname(fileOf(step)), { recursive: true });
  writeFileSync(fileOf(step), print);
}
