/** `npm run bench:web [-- --minutes 10]` reports what the run page costs a browser while a run is measured. No bound is checked. */
import { ensureBrowser } from './browser.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { run } from './run.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const env = { CHROMIUM_PATH: await ensureBrowser() };
if (!run('node', ['e2e/bench-web.ts', ...process.argv.slice(2)], { env })) process.exitCode = 1;
