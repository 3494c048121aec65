/** Builds the dashboard if its sources changed since the last build. */
import { existsSync } from 'node:fs';
import { inRoot, run, say, seconds } from './run.mjs';
import { fingerprint, isDone, setDone } from './stamp.mjs';

const sources = ['apps/web', 'packages/contract', 'packages/model', 'package-lock.json'];

/** Builds the dashboard if necessary; false if that failed. Without changes it only hashes some hundred small files. */
export function ensureBuilt() {
  const wanted = fingerprint(...sources);
  if (isDone('built', wanted) && existsSync(inRoot('apps/web/dist/index.html'))) return true;
  const started = Date.now();
  say('building the dashboard');
  if (!run('vite', ['build', 'apps/web', '--logLevel', 'warn'])) {
    console.error('shardlab: the dashboard could not be built; the message is above');
    return false;
  }
  setDone('built', wanted);
  say(`built in ${seconds(started)}`);
  return true;
}
