/** The steps that `npm run check` and `npm test` are made of. They run beside each other; each says how it ended. */
import { inRoot, pinnedNode, runBeside, seconds } from './run.mjs';

/**
 * @typedef {{ name: string, program: string, args: string[], env?: Record<string, string>, live?: boolean }} Step
 * `live`: what it prints is shown as it comes, else when it has ended, so that no two are mixed.
 */

/** One for each set of globals: Node's, the dashboard's, and those of a journey, which has both. */
const projects = ['tsconfig.json', 'apps/web/tsconfig.json', 'e2e/tsconfig.json'];

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
    args: ['--noEmit', '--pretty', 'false', '-p', project, ...incremental(project)],
  })),
  {
    name: 'lint: bugs, formatting, import boundaries, cycles',
    program: 'biome',
    args: ['check', '--diagnostic-level=warn', '--error-on-warnings', '.'],
  },
  {
    name: 'lint: rooms of the engine, ports',
    program: pinnedNode,
    args: ['scripts/check-rooms.mjs'],
  },
];

export const testReport = 'test-results/unit.json';

/** @param {string} name @param {string[]} projects of `vitest.config.ts` @returns {Step} */
export function tests(name, projects) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${inRoot(testReport)}`];
  const args = ['run', ...projects.map((project) => `--project=${project}`), ...reporters];
  return { name, program: 'vitest', args, live: true };
}

/** Resolves with whether it passed. */
export async function take(/** @type {Step} */ { name, program, args, env = {}, live = false }) {
  const started = Date.now();
  const onText = (/** @type {string} */ text) => process.stdout.write(text);
  const { ok, output } = await runBeside(program, args, { env, ...(live ? { onText } : {}) });
  const title = `── ${name}: ${ok ? 'passed' : 'failed'} in ${seconds(started)}`;
  process.stdout.write(live || output === '' ? `${title}\n` : `── ${name}\n${output.trimEnd()}\n${title}\n`);
  return ok;
}

/** Takes them all at once; resolves with whether all passed. */
export async function takeAll(/** @type {Step[]} */ steps) {
  return (await Promise.all(steps.map(take))).every((ok) => ok);
}
