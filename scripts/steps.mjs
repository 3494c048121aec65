/** The steps of `npm run check` and `npm test`. They run at the same time, and each reports how it ended. */
import { inRoot, pinnedNode, runBeside, seconds } from './run.mjs';

/**
 * @typedef {{ name: string, program: string, args: string[], env?: Record<string, string>, live?: boolean, niceness?: number }} Step
 * `live`: the output is shown as it comes, otherwise when the step has ended, so that outputs are not mixed. `niceness`: see `runBeside`.
 */

/** One project for each set of globals: those of Node, of the dashboard, and of journeys, which have both. */
const projects = ['tsconfig.json', 'apps/web/tsconfig.json', 'e2e/tsconfig.json'];

/** Several checkers would be faster alone, but each checks shared files again: one checker needs two thirds of their CPU time. */
const oneChecker = ['--checkers', '1'];

/** With the default, which lets the heap only double, garbage collection takes a fifth of the compiler's CPU time. */
const rarelyCollected = { GOGC: '400' };

/** A project without changes is not checked again, which saves a fifth of the CPU time of `npm run check`. */
const incremental = (/** @type {string} */ project) => [
  '--incremental',
  '--tsBuildInfoFile',
  inRoot('node_modules', '.shardlab', 'types', `${project.replaceAll('/', '-')}.tsbuildinfo`),
];

/** @type {Step[]} */
export const typesAndLint = [
  ...projects.map((project) => ({
    name: `types of ${project}`,
    program: 'tsc',
    args: ['--noEmit', '--pretty', 'false', '-p', project, ...oneChecker, ...incremental(project)],
    env: rarelyCollected,
  })),
  {
    name: 'lint: bugs, formatting, import boundaries, cycles',
    program: 'biome',
    args: ['check', '--diagnostic-level=warn', '--error-on-warnings', '.'],
  },
  {
    name: 'lint: rooms of engine and lab, ports, cycles of folders',
    program: pinnedNode,
    args: ['scripts/check-rooms.mjs'],
  },
];

/** The path of Vitest's JSON report on the tests of these projects. */
const testReport = (/** @type {string[]} */ projects) => inRoot('test-results', `${projects.join('-')}.json`);

/**
 * The projects of `npm test`, which run at the same time. The fast tests keep one core busy; the others spend much of their time
 * waiting for disks, leases and processes, so that three of them at once leave enough CPU for the fast ones.
 */
const parts = { rest: ['system', 'engine'], fast: ['fast'] };

/** @param {string} name @param {string[]} projects of `vitest.config.ts` @param {string[]} [options] of Vitest @returns {Step} */
function tests(name, projects, options = []) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${testReport(projects)}`];
  const args = ['run', ...projects.map((project) => `--project=${project}`), ...options, ...reporters];
  return { name, program: 'vitest', args, live: true };
}

/** Runs a part of the simulations' seeds only: all 500 of one simulation would take a tenth of `npm run check`. @type {Step} */
export const checkTests = { ...tests('fast tests', parts.fast), env: { SHARDLAB_CHECK: '1' } };

/** Step of `npm test` whose output is shown as it comes. @type {Step} */
export const restTests = tests('tests of instances, processes and crashes', parts.rest);

/** Step of `npm test` whose output is shown at its end. @type {Step} */
export const fastTests = { ...tests('fast tests', parts.fast, ['--maxWorkers=1']), live: false };

export const testReports = Object.values(parts).map(testReport);

/** Runs a step; resolves with whether it passed. */
export async function take(
  /** @type {Step} */ { name, program, args, env = {}, live = false, niceness = 0 },
) {
  const started = Date.now();
  const onText = (/** @type {string} */ text) => process.stdout.write(text);
  const { ok, output } = await runBeside(program, args, { env, niceness, ...(live ? { onText } : {}) });
  const title = `── ${name}: ${ok ? 'passed' : 'failed'} in ${seconds(started)}`;
  process.stdout.write(live || output === '' ? `${title}\n` : `── ${name}\n${output.trimEnd()}\n${title}\n`);
  return ok;
}

/** Runs all steps at the same time; resolves with whether all passed. */
export async function takeAll(/** @type {Step[]} */ steps) {
  return (await Promise.all(steps.map(take))).every((ok) => ok);
}
