/** Installs what the lockfile names, if it is not there yet, and makes sure that the pinned Node is. */
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { giveUp, inRoot, pinnedNode, run, say, seconds } from './run.mjs';
import { fingerprint, isDone, setDone } from './stamp.mjs';

const options = ['--no-audit', '--no-fund', '--loglevel=error'];

/** The npm that started this script, else the one on the PATH. */
function npm(/** @type {string[]} */ ...args) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('.js') ? run(process.execPath, [cli, ...args]) : run('npm', args);
}

/**
 * The package `node` fetches its binary in an install script. Where npm was told to run none (`ignore-scripts`), the
 * same script is run here by hand.
 */
function ensurePinnedNode() {
  const folder = inRoot('node_modules', 'node');
  const { version } = JSON.parse(readFileSync(inRoot('node_modules', 'node', 'package.json'), 'utf8'));
  if (!existsSync(pinnedNode)) {
    say(`npm ran no install script, so Node ${version} is missing; fetching it`);
    run(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder });
  }
  const link = inRoot('node_modules', '.bin', 'node');
  if (existsSync(pinnedNode) && !existsSync(link)) symlinkSync('../node/bin/node', link);
  if (
    !existsSync(pinnedNode) ||
    !run(pinnedNode, ['-e', `process.exit(process.version === 'v${version}' ? 0 : 1)`])
  ) {
    giveUp(
      `Node ${version} could not be installed; try \`npm rebuild node --foreground-scripts\` and look at its output`,
    );
  }
}

/** Costs one hash of the lockfile when there is nothing to do. */
export function ensureInstalled() {
  const wanted = fingerprint('package-lock.json', 'package.json');
  if (isDone('installed', wanted)) return;
  const fresh = !existsSync(inRoot('node_modules'));
  // `npm ci` would empty a folder that another running command may use; `npm install` only adds what is missing.
  const command = fresh ? 'ci' : 'install';
  const started = Date.now();
  say(`installing dependencies (npm ${command})`);
  if (!npm(command, ...options)) giveUp(`\`npm ${command}\` failed; its message is above`);
  ensurePinnedNode();
  // Taken again: `npm install` may have tidied the lockfile.
  setDone('installed', fingerprint('package-lock.json', 'package.json'));
  say(`installed in ${seconds(started)}`);
}
