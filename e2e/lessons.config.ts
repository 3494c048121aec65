import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';
import journeys from './playwright.config.ts';

// Lessons are about waits of commits, so their data are on a disk, while the data of journeys may be in memory.
const folder = fileURLToPath(new URL('../test-results/lessons/', import.meta.url));
mkdirSync(folder, { recursive: true });
process.env.TMPDIR = folder;

/** `npm run lessons` runs lessons one after the other, so that none disturbs the measurements of another. */
export default defineConfig({
  ...journeys,
  testMatch: 'lessons.ts',
  outputDir: '../test-results/lessons-e2e',
  workers: 1,
});
