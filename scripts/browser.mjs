/** Finds a Chromium for the journeys, or installs one. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { giveUp, run, say } from './run.mjs';

/** In order of preference: journeys take a sixth less CPU in the headless shell, which has no browser window. */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

function onPath() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const name of names) {
    const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function playwrightsOwn() {
  const { chromium } = await import('@playwright/test');
  const file = chromium.executablePath();
  return existsSync(file) ? file : undefined;
}

const isRootOnDebian = () => process.getuid?.() === 0 && existsSync('/etc/debian_version');

/** The path of a Chromium; ends the command if there is none and none can be installed. @returns {Promise<string>} */
export async function ensureBrowser() {
  const named = process.env.CHROMIUM_PATH;
  if (named !== undefined && named !== '') {
    return existsSync(named) ? named : giveUp(`CHROMIUM_PATH names ${named}, which does not exist`);
  }
  const present = onPath() ?? (await playwrightsOwn());
  if (present !== undefined) return present;

  say('no Chromium on this machine; asking Playwright for one');
  run('playwright', ['install', 'chromium'], { timeoutMs: 10 * 60_000 });
  const fetched = await playwrightsOwn();
  if (fetched !== undefined) return fetched;

  if (isRootOnDebian()) {
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    run('apt-get', ['update'], { env });
    // Older systems have only the second package.
    for (const name of ['chromium-headless-shell', 'chromium']) {
      say(`Playwright could not fetch one; installing the Debian package ${name}`);
      if (run('apt-get', ['install', '-y', '--no-install-recommends', name], { env })) break;
    }
    const installed = onPath();
    if (installed !== undefined) return installed;
  }
  return giveUp(
    "the end-to-end tests need a Chromium and none could be installed. Install your system's package (`chromium` or " +
      '`google-chrome`), or name one in CHROMIUM_PATH, then run the command again',
  );
}
