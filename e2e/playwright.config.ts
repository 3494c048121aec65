import { defineConfig } from '@playwright/test';
import { makeTestFolder } from '../scripts/test-folder.ts';

// The servers keep their data in this folder, which may be in memory, since no journey depends on measured values. Workers inherit
// the variable.
if (process.env.TEST_WORKER_INDEX === undefined) process.env.TMPDIR = makeTestFolder();

// scripts/e2e.mjs sets this path; without it Playwright looks for a browser of its own.
const executablePath = process.env.CHROMIUM_PATH;
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results/e2e',
  // Each worker has a server and a browser, and runs one file after the other. No journey checks a speed, so they run at the same
  // time and measure only briefly.
  workers: 2,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: process.env.CI !== undefined,
  reporter: 'list',
  use: {
    browserName: 'chromium',
    launchOptions: {
      ...(executablePath === undefined ? {} : { executablePath }),
      // Chromium's sandbox refuses root, as in containers.
      args: ['--disable-background-networking', '--disable-gpu', ...(isRoot ? ['--no-sandbox'] : [])],
    },
    viewport: { width: 1280, height: 900 },
    // Without this bound a click on something that never appears would wait until the journey times out.
    actionTimeout: 60_000,
    // There are no animations, except in journeys that ask for them.
    contextOptions: { reducedMotion: 'reduce' },
    // The trace of a failure has its calls, requests and console, and the text of the page at its end. Snapshots of the page at each
    // step take a seventh of a journey's time; `npm run e2e -- NAME --trace on` records them.
    trace: { mode: 'retain-on-failure', screenshots: false, snapshots: false },
  },
});
