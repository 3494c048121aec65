import { defineConfig } from '@playwright/test';
import { makeTestFolder } from '../scripts/test-folder.ts';

// The servers keep their data there, and what they measure here is shown and not judged. Workers inherit it.
if (process.env.TEST_WORKER_INDEX === undefined) process.env.TMPDIR = makeTestFolder();

// Named by scripts/e2e.mjs; without it Playwright looks for a browser of its own.
const executablePath = process.env.CHROMIUM_PATH;
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results/e2e',
  // A server and a browser for each worker, which takes one file after the other. No journey asks for a speed, so they run
  // beside each other and measure for moments only.
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
    // For what never comes; without a bound a click waits until the journey's time is over.
    actionTimeout: 60_000,
    // Nothing moves by itself, except in the journeys that ask for it.
    contextOptions: { reducedMotion: 'reduce' },
    // Of a failure: its calls, requests and console, and the text of the page at its end. The page at each step, which takes a
    // seventh of a journey's time, comes with `npm run e2e -- NAME --trace on`.
    trace: { mode: 'retain-on-failure', screenshots: false, snapshots: false },
  },
});
