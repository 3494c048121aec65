/** Installs the packages of the lockfile and the pinned Node, unless they are installed already. */
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { giveUp, inRoot, pinnedNode, run, say, seconds } from './run.mjs';
import { fingerprint, isDone, setDone } from './stamp.mjs';

/**
 * Not `npm ci`: it refuses a lockfile that lacks the optional binary of some other platform. `--no-save` leaves the
 * lockfile as it is. No install scripts: npm 10 would run node-gyp for better-sqlite3, which ships its binaries and
 * needs no compiler; the one script that matters is run below.
 */
const install = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** Runs the npm that started this script, or else the one on the PATH. */
function npm(/** @type {string[]} */ args) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('npm-cli.js') ? run(process.execPath, [cli, ...args]) : run('npm', args);
}

/** Runs the install script of the package `node`, which downloads the pinned binary. */
function ensurePinnedNode() {
  const folder = inRoot('node_modules', 'node');
  const { version } = JSON.parse(readFileSync(inRoot('node_modules', 'node', 'package.json'), 'utf8'));
  const works = () =>
    existsSync(pinnedNode) &&
    run(pinnedNode, ['-e', `process.exitCode = +(process.version !== 'v${version}')`]);
  if (!works()) {
    say(`fetching Node ${version}`);
    run(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder });
  }
  if (!works())
    giveUp(`Node ${version} could not be installed: its package's message is above, if it gave one`);
  const link = inRoot('node_modules', '.bin', 'node');
  if (!existsSync(link)) symlinkSync('../node/bin/node', link);
}

/** Installs if necessary. Without changes it only hashes the lockfile. */
export function ensureInstalled() {
  const wanted = fingerprint('package-lock.json', 'package.json');
  if (isDone('installed', wanted)) return;
  const started = Date.now();
  say('installing dependencies (npm install)');
  if (!npm(install)) giveUp('`npm install` failed; its message is above');
  ensurePinnedNode();
  setDone('installed', wanted);
  say(`installed in ${seconds(started)}`);
}
