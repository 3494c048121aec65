/**
 * `npm test`: installs what is missing, then runs everything that continuous integration runs. Tests of instances and processes
 * spend a good part of their time waiting. The remaining CPU goes to steps that only compute (types, lint, fast tests), then to
 * the journeys on a freshly built dashboard. These steps run at a lower priority: otherwise tests about hanging or ending
 * processes would exceed their time limits on two cores. The last line counts the tests of all steps.
 */
import { readFileSync, rmSync } from 'node:fs';
import { useBundles } from './bundles/use-bundles.mjs';
import { ensureInstalled } from './install.mjs';
import { cpuOfChildren, inRoot, pinnedNode, seconds } from './run.mjs';
import { fastTests, restTests, take, takeAll, testReports, typesAndLint } from './steps.mjs';

const journeyReport = inRoot('test-results', 'e2e.json');

function read(/** @type {string} */ file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null; // the step ended before it wrote a report
  }
}

function count() {
  const units = testReports.map(read);
  const sum = (/** @type {string} */ name) => units.reduce((total, unit) => total + (unit?.[name] ?? 0), 0);
  const { stats } = read(journeyReport) ?? {};
  return {
    passed: sum('numPassedTests') + (stats?.expected ?? 0) + (stats?.flaky ?? 0),
    failed: sum('numFailedTests') + (stats?.unexpected ?? 0),
  };
}

const started = Date.now();
ensureInstalled();
for (const report of [...testReports, journeyReport]) rmSync(report, { force: true });
const bundled = useBundles();
/** Niceness of the steps with a lower priority than the tests of instances and processes. */
const niceness = 5;

/** @type {import('./steps.mjs').Step} */
const journeys = {
  name: 'dashboard build, and journeys in a browser',
  program: pinnedNode,
  args: ['scripts/e2e.mjs', '--reporter=list,json'],
  env: { ...bundled, PLAYWRIGHT_JSON_OUTPUT_FILE: journeyReport },
};

async function takeYielding() {
  const computing = [{ ...fastTests, env: bundled }, ...typesAndLint];
  const computed = await takeAll(computing.map((step) => ({ ...step, niceness })));
  return (await take({ ...journeys, niceness })) && computed;
}

const passedAll = await Promise.all([take({ ...restTests, env: bundled }), takeYielding()]);
const ok = passedAll.every((each) => each);
const { passed, failed } = count();
console.log(`\n── all: ${ok ? 'passed' : 'failed'} in ${seconds(started)}${cpuOfChildren()}`);
// A failing step without tests, such as the type check, still counts in the last line.
console.log(`\n${passed} passed, ${ok ? failed : Math.max(failed, 1)} failed`);
process.exitCode = ok ? 0 : 1;
