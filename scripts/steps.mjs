/** The steps that `npm run check` and `npm test` are made of. They run beside each other; each says how it ended. */
import { inRoot, pinnedNode, runBeside, seconds } from './run.mjs';

/**
 * @typedef {{ name: string, program: string, args: string[], env?: Record<string, string>, live?: boolean, niceness?: number }} Step
 * `live`: what it prints is shown as it comes, else when it has ended, so that no two are mixed. `niceness`: it gives way to those with less.
 */

/** One for each set of globals: Node's, the dashboard's, and those of a journey, which has both. */
const projects = ['tsconfig.json', 'apps/web/tsconfig.json', 'e2e/tsconfig.json'];

/** Several would be faster alone, but each checks anew what they share: one needs two thirds of their CPU. */
const oneChecker = ['--checkers', '1'];

/** The collector of the compiler's runtime takes a fifth of its CPU if it may only double the heap. */
const rarelyCollected = { GOGC: '400' };

/** A project whose files are as they were is not checked again, which is a fifth of the CPU of `npm run check`. */
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
    name: 'lint: rooms of engine and lab, ports, circles of folders',
    program: pinnedNode,
    args: ['scripts/check-rooms.mjs'],
  },
];

/** Vitest's report on the tests of these projects, as JSON. */
const testReport = (/** @type {string[]} */ projects) => inRoot('test-results', `${projects.join('-')}.json`);

/**
 * The projects of `npm test`, which run at the same time. The fast tests keep one core busy; the others wait for disks, leases
 * and processes for a good part of their time, so that three of them at once leave room for that.
 */
const parts = { rest: ['system', 'engine'], fast: ['fast'] };

/** @param {string} name @param {string[]} projects of `vitest.config.ts` @param {string[]} [options] of Vitest @returns {Step} */
function tests(name, projects, options = []) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${testReport(projects)}`];
  const args = ['run', ...projects.map((project) => `--project=${project}`), ...options, ...reporters];
  return { name, program: 'vitest', args, live: true };
}

/** A part of the seeds of the simulations: all 2,000 of one take half of `npm run check`. @type {Step} */
export const checkTests = { ...tests('fast tests', parts.fast), env: { SHARDLAB_CHECK: '1' } };

/** Step of `npm test` whose output is shown as it comes. @type {Step} */
export const restTests = tests('tests of instances, processes and crashes', parts.rest);

/** Step of `npm test` whose output is shown at its end. @type {Step} */
export const fastTests = { ...tests('fast tests', parts.fast, ['--maxWorkers=1']), live: false };

export const testReports = Object.values(parts).map(testReport);

/** Resolves with whether it passed. */
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

/** Takes them all at once; resolves with whether all passed. */
export async function takeAll(/** @type {Step[]} */ steps) {
  return (await Promise.all(steps.map(take))).every((ok) => ok);
}
