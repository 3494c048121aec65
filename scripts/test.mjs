/**
 * `npm test`: installs what is missing, then runs everything that continuous integration runs, one named step after
 * the other, and stops at the first that fails. The last line counts the tests of all steps.
 */
import { readFileSync, rmSync } from 'node:fs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { inRoot, pinnedNode, run, seconds } from './run.mjs';

const unitReport = 'test-results/unit.json';
const journeyReport = 'test-results/e2e.json';

/** One for each set of globals: Node's, the dashboard's, and those of a journey, which has both. */
const projects = ['tsconfig.json', 'apps/web/tsconfig.json', 'e2e/tsconfig.json'];

/** @type {[name: string, action: () => boolean][]} */
const steps = [
  ['types', () => projects.every((project) => run('tsc', ['--noEmit', '-p', project]))],
  [
    'lint: bugs, formatting, import boundaries, cycles',
    () => run('biome', ['check', '--diagnostic-level=warn', '--error-on-warnings', '.']),
  ],
  [
    'unit, property and crash tests',
    () => run('vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${unitReport}`]),
  ],
  ['dashboard build', ensureBuilt],
  [
    'journeys in a browser',
    () =>
      run(pinnedNode, ['scripts/e2e.mjs', '--reporter=list,json'], {
        env: { PLAYWRIGHT_JSON_OUTPUT_FILE: inRoot(journeyReport) },
      }),
  ],
];

function read(/** @type {string} */ file) {
  try {
    return JSON.parse(readFileSync(inRoot(file), 'utf8'));
  } catch {
    return null; // the step was not reached
  }
}

function count() {
  const unit = read(unitReport);
  const journeys = read(journeyReport)?.stats;
  return {
    passed: (unit?.numPassedTests ?? 0) + (journeys?.expected ?? 0) + (journeys?.flaky ?? 0),
    failed: (unit?.numFailedTests ?? 0) + (journeys?.unexpected ?? 0),
  };
}

ensureInstalled();
for (const report of [unitReport, journeyReport]) rmSync(inRoot(report), { force: true });

let ok = true;
for (const [name, action] of steps) {
  const started = Date.now();
  console.log(`\n── ${name}`);
  ok = action();
  console.log(`── ${name}: ${ok ? 'passed' : 'failed'} in ${seconds(started)}`);
  if (!ok) break;
}
const { passed, failed } = count();
// A failing step that is no test, such as the type check, still shows in the last line.
console.log(`\n${passed} passed, ${ok ? failed : Math.max(failed, 1)} failed`);
process.exitCode = ok ? 0 : 1;
