import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';
import journeys from './playwright.config.ts';

// A lesson is about what a commit waits for, so its data are on the disk, where journeys have theirs in memory.
const folder = fileURLToPath(new URL('../test-results/lessons/', import.meta.url));
mkdirSync(folder, { recursive: true });
process.env.TMPDIR = folder;

/** `npm run lessons`: one after the other, so that none is measured beside another. */
export default defineConfig({
  ...journeys,
  testMatch: 'lessons.ts',
  outputDir: '../test-results/lessons-e2e',
  workers: 1,
});
