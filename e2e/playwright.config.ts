import { defineConfig } from '@playwright/test';

// Named by scripts/e2e.mjs; without it Playwright looks for a browser of its own.
const executablePath = process.env.CHROMIUM_PATH;
const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results/e2e',
  // A server and a browser for each worker, which takes one file after the other. No journey asks for a speed: Figure 3, which
  // takes as long as all others, runs beside them.
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
    trace: 'retain-on-failure',
  },
});
