/** `npm run screenshots` saves every page and state of the dashboard as pictures in `screenshots/`. */
import { ensureBrowser } from './browser.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { run, say } from './run.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const env = { CHROMIUM_PATH: await ensureBrowser() };
if (run('playwright', ['test', '--config', 'e2e/screenshots.config.ts', ...process.argv.slice(2)], { env }))
  say('the pictures are in screenshots/');
else process.exitCode = 1;
