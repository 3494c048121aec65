/** Runs seeds and prints the trace: `node packages/engine/test/simulator/run.ts --seed 7 --steps 500 [--count 100]`. */
import { parseArgs } from 'node:util';
import { Coverage } from './coverage.ts';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '500' },
    /** Number of seeds from `seed` on. More than one seed is run without traces. */
    count: { type: 'string', default: '1' },
  },
});
const seed = Number(values.seed);
const steps = Number(values.steps);
const count = Number(values.count);
const coverage = new Coverage();
coverage.start();
const startedAt = performance.now();
let stepsDone = 0;
let failures = 0;
for (let i = 0; i < count; i += 1) {
  const onTrace = count === 1 ? (line: string) => console.log(line) : undefined;
  try {
    const result = await simulate({ seed: seed + i, steps, onTrace });
    stepsDone += result.steps;
    if (count === 1) console.log(JSON.stringify(result));
  } catch (error) {
    failures += 1;
    console.log(error instanceof Error ? error.message : error);
    if (count === 1) console.log((error as Error).cause);
    if (failures >= 10) break;
  }
}
coverage.stop();
const seconds = (performance.now() - startedAt) / 1_000;
console.log(
  `${count} seeds, ${stepsDone} steps, ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} seeds/s`,
);
if (count > 1) console.log(coverage.toString());
if (failures > 0) process.exitCode = 1;
