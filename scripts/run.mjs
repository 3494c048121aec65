/** How the other scripts speak and start programs. */
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const inRoot = (/** @type {string[]} */ ...parts) => join(root, ...parts);

/** The Node that the lockfile pins; it exists once `ensureInstalled` has returned. */
export const pinnedNode = inRoot('node_modules', 'node', 'bin', 'node');

export const say = (/** @type {string} */ line) => console.log(`shardlab: ${line}`);

/** Ends the command with one sentence and a non-zero exit code. @returns {never} */
export function giveUp(/** @type {string} */ line) {
  console.error(`shardlab: ${line}`);
  process.exit(1);
}

export const seconds = (/** @type {number} */ sinceMs) => `${((Date.now() - sinceMs) / 1000).toFixed(1)} s`;

/**
 * Runs a program in the root folder and waits for it; `true` if it exits with 0. Its input is closed, so nothing can
 * ask; tools and their `#!/usr/bin/env node` find the pinned Node first.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, cwd?: string, timeoutMs?: number }} [options]
 */
export function run(program, args, options = {}) {
  const path = `${inRoot('node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
  const result = spawnSync(program, args, {
    cwd: options.cwd ?? root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: path, ...options.env },
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
  });
  if (result.error !== undefined) console.error(`shardlab: ${program}: ${result.error.message}`);
  return result.status === 0;
}
