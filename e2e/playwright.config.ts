import { defineConfig } from '@playwright/test';

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
      args: ['--disable-background-networking', ...(isRoot ? ['--no-sandbox'] : [])],
    },
    viewport: { width: 1280, height: 900 },
    // The pages as they were at each step, without a film of them, which would cost as much as the journey.
    trace: { mode: 'retain-on-failure', screenshots: false },
  },
});
