import { defineConfig } from '@playwright/test';

// Named by scripts/e2e.mjs; without it Playwright looks for a browser of its own.
const executablePath = process.env.CHROMIUM_PATH;
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: '.',
  globalSetup: './global-setup.ts',
  outputDir: '../test-results/e2e',
  // One server, one run at a time: the journeys measure, and two would measure each other.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 15_000 },
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
    trace: 'retain-on-failure',
  },
});
