import { defineConfig } from '@playwright/test';
import journeys from './playwright.config.ts';

/** `npm run screenshots` tests nothing, but needs a browser and a server of its own, like a journey. */
export default defineConfig({
  ...journeys,
  testMatch: 'screenshots.ts',
  workers: 1,
  timeout: 10 * 60_000,
});
