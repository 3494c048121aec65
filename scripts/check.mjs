/** `npm run check`: types, lint and the fast tests, beside each other, for the loop of writing code. */
import { ensureInstalled } from './install.mjs';
import { cpuOfChildren, seconds } from './run.mjs';
import { takeAll, tests, typesAndLint } from './steps.mjs';

ensureInstalled();
const started = Date.now();
/** A part of the seeds of the simulations: all 2,000 of one take half of `npm run check`. */
const fastTests = { ...tests('fast tests', ['fast']), env: { SHARDLAB_CHECK: '1' } };
const ok = await takeAll([fastTests, ...typesAndLint]);
console.log(`\n── check: ${ok ? 'passed' : 'failed'} in ${seconds(started)}${cpuOfChildren()}`);
process.exitCode = ok ? 0 : 1;
