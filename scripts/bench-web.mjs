/** `npm run bench:web [-- --minutes 10]`: what the run page costs a browser while a run is measured. Reported, not gated. */
import { ensureBrowser } from './browser.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { run } from './run.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const env = { CHROMIUM_PATH: await ensureBrowser() };
if (!run('node', ['e2e/bench-web.ts', ...process.argv.slice(2)], { env })) process.exitCode = 1;
