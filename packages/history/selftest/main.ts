/**
 * `npm run history:selftest [-- --seed 7] [--plant name]`: runs every planted bug until the checker reports it, and each
 * workload on the engine as it is. Prints a table; the exit code is 1 if a bug was not found or a workload was illegal.
 */
import { parseArgs } from 'node:util';
import { describeViolation } from '../src/check/report.ts';
import { describeVerdict, violationKinds } from '../src/index.ts';
import { plants } from './plants.ts';
import { type PlantRun, runPlant } from './run-plant.ts';
import { type WorkloadName, workloads } from './workloads.ts';

const roundsMax = 12;
/** Rounds of a workload on the engine without a bug, which must not show a violation. */
const soundRounds = 4;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    plant: { type: 'string', multiple: true },
    witness: { type: 'boolean', default: false },
  },
});
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be an integer, not "${values.seed}"`);
console.log(`seed ${seed}`);
let failed = 0;

const isWanted = (name: string) => values.plant?.some((part) => name.includes(part)) ?? true;

async function runOne(name: string, run: PlantRun): Promise<void> {
  const { verdict, found, rounds, failures } = await runPlant(run);
  const isSound = run.edits.length === 0;
  const passed = isSound ? verdict.violations.length === 0 && failures.length === 0 : found !== undefined;
  if (!passed) failed += 1;
  const by = isSound ? (passed ? 'legal' : 'ILLEGAL') : (found?.kind ?? 'NOT FOUND');
  const cells = [
    name.padEnd(52),
    by.padEnd(10),
    `${verdict.operations}`.padStart(7),
    `${rounds}`.padStart(4),
  ];
  console.log(cells.join('  '));
  if (found !== undefined && values.witness) console.log(describeViolation(found));
  if (!passed) console.log([describeVerdict(verdict), ...failures.slice(0, 2)].join('\n'));
}

console.log(['plant'.padEnd(52), 'found by'.padEnd(10), ' operations'.slice(-11), 'processes'].join('  '));
for (const workload of Object.keys(workloads) as WorkloadName[]) {
  const name = `(none) ${workload}`;
  if (isWanted(name))
    await runOne(name, { edits: [], workload, seed, kinds: violationKinds, roundsMax: soundRounds });
}
for (const { name, ...plant } of plants)
  if (isWanted(name)) await runOne(name, { ...plant, seed, roundsMax });
console.log(failed === 0 ? 'Every planted bug was found, and nothing else.' : `${failed} FAILED`);
process.exitCode = failed === 0 ? 0 : 1;
