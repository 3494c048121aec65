/** Functions with which the other scripts print messages and start programs. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
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
 * CPU time of all child processes that have ended and of their descendants, as words for the end of a sentence; empty if the system
 * does not report it. If a run on two cores takes longer than half of this time, it also waits for other things than CPU.
 */
export function cpuOfChildren() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // The fields after the name, which may contain anything: cutime and cstime, in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `, ${Math.round((Number(fields[13]) + Number(fields[14])) / 100)} s of CPU`;
  } catch {
    return '';
  }
}

/** Folder of compiled modules. Without it, most of the start of a process or thread would be spent on compiling the same modules. */
export const compiled = inRoot('node_modules', '.shardlab', 'compiled');

/**
 * Runs programs in the root folder with stdin closed, so that none can prompt. Tools with `#!/usr/bin/env node` find the pinned
 * Node first.
 *
 * @typedef {{ env?: Record<string, string>, cwd?: string, timeoutMs?: number }} RunOptions
 */
function surroundings(/** @type {RunOptions} */ { env = {}, cwd = root, timeoutMs }) {
  const path = `${inRoot('node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
  return {
    cwd,
    env: { NODE_COMPILE_CACHE: compiled, ...process.env, PATH: path, ...env },
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  };
}

/** Runs a program and waits for it; `true` if it exits with 0. */
export function run(
  /** @type {string} */ program,
  /** @type {string[]} */ args,
  /** @type {RunOptions} */ options = {},
) {
  return exitCodeOf(program, args, options) === 0;
}

/** Runs a program and waits for it. `null` if it could not be started or was ended by a signal. */
export function exitCodeOf(
  /** @type {string} */ program,
  /** @type {string[]} */ args,
  /** @type {RunOptions} */ options = {},
) {
  const stdio = /** @type {const} */ (['ignore', 'inherit', 'inherit']);
  const result = spawnSync(program, args, { ...surroundings(options), stdio: [...stdio] });
  if (result.error !== undefined) console.error(`shardlab: ${program}: ${result.error.message}`);
  return result.status;
}

/**
 * Runs a program while others run. Resolves with whether it exited with 0 and with its output, which is also passed to `onText` as it
 * comes. `niceness` lowers the priority of the program and its children: under contention they get a third of the CPU of as many
 * processes with niceness 0 if it is 5, and a tenth if it is 10.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {RunOptions & { onText?: (text: string) => void, niceness?: number }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export function runBeside(program, args, { onText, niceness = 0, ...options } = {}) {
  const child = spawn(program, args, { ...surroundings(options), stdio: ['ignore', 'pipe', 'pipe'] });
  if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      onText?.(text);
    });
  }
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ ok: false, output: `shardlab: ${program}: ${error.message}\n` }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}
