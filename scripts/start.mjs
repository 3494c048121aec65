/**
 * `npm start`: installs what is missing, builds what changed, and serves lab, API and dashboard. Runs on Node 20 or
 * later with nothing installed; the server itself runs on the pinned Node.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { compiled, giveUp, inRoot, pinnedNode, root } from './run.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);

const server = spawn(pinnedNode, [inRoot('apps/server/src/main.ts'), ...process.argv.slice(2)], {
  cwd: root,
  // Processes of instances inherit this cache, which halves the time until a restarted one serves.
  env: { NODE_COMPILE_CACHE: compiled, ...process.env },
  stdio: ['ignore', 'inherit', 'inherit'],
});
server.on('error', (error) => giveUp(`the server could not be started: ${error.message}`));

// A Ctrl-C reaches the whole process group, so the server gets two signals; it ignores the second one.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => server.kill(signal));
}
server.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
});
