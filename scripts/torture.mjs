/**
 * `npm run torture`: the randomized tests of `npm test`, longer and with new seeds. First the torture of `packages/lab`, which
 * takes the arguments; then the engine's own kills and damage, from the same seed, and more runs of its property tests. With
 * `--damage` only rounds of damage: flips, cuts, torn sectors and deletions, 5,000 unless `--count` says otherwise. With `--slow` only the
 * last part: a cluster is resized under load for five minutes beside 20 busy processes, which must kill nothing.
 */
import { useBundles } from './bundles/use-bundles.mjs';
import { ensureInstalled } from './install.mjs';
import { exitCodeOf, inRoot, pinnedNode, run, say } from './run.mjs';

/** Of a program that cannot use its arguments. Nothing is run then. */
const usageExitCode = 2;

ensureInstalled();
const args = process.argv.slice(2);
const given = args.indexOf('--seed');
const seed = given === -1 ? String(Date.now() % 2 ** 31) : (args[given + 1] ?? '');
if (args.includes('--damage')) {
  const rest = args.filter((arg) => arg !== '--damage');
  const withSeed = given === -1 ? [...rest, '--seed', seed] : rest;
  const program = inRoot('packages/engine/test/faults/damage/run-damage.ts');
  process.exit(run(pinnedNode, [program, ...withSeed], { env: useBundles() }) ? 0 : 1);
}
/** Alone, since its busy processes would slow down every other test. */
const testSlow = () =>
  run('vitest', ['run', '--project=system', 'cluster/slow'], { env: { SHARDLAB_SEED: seed } });
if (args.includes('--slow')) process.exit(testSlow() ? 0 : 1);
const all = given === -1 ? [...args, '--seed', seed] : args;
const exitCode = exitCodeOf(pinnedNode, [inRoot('packages/lab/src/torture/main.ts'), ...all]);
if (exitCode === usageExitCode) process.exit(exitCode);
say(`kills and damage of the engine's tests, seed ${seed}`);
/** Filters of Vitest: parts of the names of files. */
const files = [
  'simulator/simulator',
  'crash.test',
  'crash-matrix',
  'random-branches',
  'kill',
  'xa-program',
  'damaged-partition',
  'cluster/failover',
  'cluster/random-faults',
  'singletons/',
  'engine/test/property',
  'engine/test/topic-property',
  'engine/test/forwarding-property',
  'engine/test/buffered-property',
  'engine/test/retention',
  'indexes/index-property',
  'remote/consumer-property',
  'remote/prefetch-property',
  'trace/legal-walk',
  'sql/property',
  'idempotency/property',
  'streams/stream-property',
  'monitoring/views-property',
  'faults/scrub-slices',
  'model/test/simulation',
  'history/test/property',
];
const tested = run('vitest', ['run', '--project=fast', '--project=engine', '--project=system', ...files], {
  env: { SHARDLAB_SEED: seed },
});
const slowSurvived = testSlow();
process.exitCode = exitCode === 0 && tested && slowSurvived ? 0 : 1;
