/**
 * `npm test`: installs what is missing, then runs everything that continuous integration runs, beside each other: types,
 * lint, all tests, and the journeys on a freshly built dashboard. The last line counts the tests of all steps.
 */
import { readFileSync, rmSync } from 'node:fs';
import { ensureInstalled } from './install.mjs';
import { cpuOfChildren, giveUp, inRoot, pinnedNode, run, seconds } from './run.mjs';
import { takeAll, testReport, tests, typesAndLint } from './steps.mjs';

/** Processes and threads that tests start load bundles: see `bundles/`. */
const redirect = inRoot('scripts', 'bundles', 'redirect.mjs');
const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --require=${JSON.stringify(redirect)}`.trim();

const journeyReport = 'test-results/e2e.json';

/** @type {import('./steps.mjs').Step} */
const journeys = {
  name: 'dashboard build, and journeys in a browser',
  program: pinnedNode,
  args: ['scripts/e2e.mjs', '--reporter=list,json'],
  env: { NODE_OPTIONS, PLAYWRIGHT_JSON_OUTPUT_FILE: inRoot(journeyReport) },
};

function read(/** @type {string} */ file) {
  try {
    return JSON.parse(readFileSync(inRoot(file), 'utf8'));
  } catch {
    return null; // the step ended before it wrote one
  }
}

function count() {
  const unit = read(testReport);
  const { stats } = read(journeyReport) ?? {};
  return {
    passed: (unit?.numPassedTests ?? 0) + (stats?.expected ?? 0) + (stats?.flaky ?? 0),
    failed: (unit?.numFailedTests ?? 0) + (stats?.unexpected ?? 0),
  };
}

const started = Date.now();
ensureInstalled();
for (const report of [testReport, journeyReport]) rmSync(inRoot(report), { force: true });
if (!run(pinnedNode, [inRoot('scripts', 'bundles', 'build.mjs')])) giveUp('the bundles could not be made');
const ok = await takeAll([
  { ...tests('unit, property and crash tests', ['fast', 'engine', 'system']), env: { NODE_OPTIONS } },
  ...typesAndLint,
  journeys,
]);
const { passed, failed } = count();
console.log(`\n── all: ${ok ? 'passed' : 'failed'} in ${seconds(started)}${cpuOfChildren()}`);
// A failing step that is no test, such as the type check, still shows in the last line.
console.log(`\n${passed} passed, ${ok ? failed : Math.max(failed, 1)} failed`);
process.exitCode = ok ? 0 : 1;
