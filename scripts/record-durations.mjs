/** `node scripts/record-durations.mjs` stores how long the slow test files took in the last `npm test`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inRoot, root } from './run.mjs';
import { testReports } from './steps.mjs';

/** Quicker files are not stored, since their order makes no difference. */
const secondsMin = 2;

/** @type {{ name: string, startTime: number, endTime: number }[]} */
const results = testReports.flatMap((report) => JSON.parse(readFileSync(report, 'utf8')).testResults);
const slow = results
  .map(
    ({ name, startTime, endTime }) =>
      /** @type {const} */ ([relative(root, name), (endTime - startTime) / 1000]),
  )
  .filter(([, seconds]) => seconds >= secondsMin)
  .sort(([, a], [, b]) => b - a)
  .map(([file, seconds]) => [file, Math.round(seconds)]);
writeFileSync(
  inRoot('scripts', 'test-durations.json'),
  `${JSON.stringify(Object.fromEntries(slow), null, 2)}\n`,
);
