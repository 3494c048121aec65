/** `npm run lessons` runs the six experiments of the page Learn in a browser, and prints the result of each on this machine. */
import { ensureBrowser } from './browser.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { run } from './run.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const env = { CHROMIUM_PATH: await ensureBrowser() };
if (!run('playwright', ['test', '--config', 'e2e/lessons.config.ts', ...process.argv.slice(2)], { env }))
  process.exitCode = 1;
