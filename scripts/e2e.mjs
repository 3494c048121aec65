/** `npm run e2e [-- playwright arguments]`: the journeys in a real browser, with a dashboard built from the current sources. */
import { ensureBrowser } from './browser.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { inRoot, run } from './run.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const browser = await ensureBrowser();
const env =
  process.platform === 'linux'
    ? { CHROMIUM_PATH: inRoot('scripts', 'yielding-browser.sh'), YIELDING_BROWSER: browser }
    : { CHROMIUM_PATH: browser };
if (!run('playwright', ['test', '--config', 'e2e/playwright.config.ts', ...process.argv.slice(2)], { env }))
  process.exitCode = 1;
