/**
 * `npm run conformance`: about 10,000 requests against a server of its own, in all phases of Schemathesis. Exits with 1 on any
 * finding. Takes a few minutes. `--seed` repeats a run, `--cases` sets the number of requests per operation and phase.
 */
import { parseArgs } from 'node:util';
import { installSchemathesis } from './install-schemathesis.ts';
import { runConformance } from './run-conformance.ts';

const minute = 60_000;
const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, cases: { type: 'string', default: '190' } },
});
const seed = Number(values.seed);
console.log(`conformance: seed ${seed}`);
const installed = installSchemathesis({ msMax: 5 * minute });
if ('missing' in installed) {
  console.error(`conformance: Schemathesis is needed, and ${installed.missing}`);
  process.exit(1);
}
const { ok, output, cases } = await runConformance({
  program: installed.program,
  seed,
  phases: ['examples', 'coverage', 'fuzzing', 'stateful'],
  casesPerOperation: Number(values.cases),
  msMax: 40 * minute,
  onText: (text) => process.stdout.write(text),
});
if (!ok) console.error(output.split('\nSeed: ').at(-1));
console.log(`conformance: ${cases} requests, ${ok ? 'no finding' : 'findings, see above'}`);
process.exitCode = ok ? 0 : 1;
