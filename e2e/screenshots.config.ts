import { defineConfig } from '@playwright/test';
import journeys from './playwright.config.ts';

/** `npm run screenshots`: no test, but a browser and a server of its own, which is what a journey has. */
export default defineConfig({
  ...journeys,
  testMatch: 'screenshots.ts',
  workers: 1,
  timeout: 10 * 60_000,
});
