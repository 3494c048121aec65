/** `npm run check`: types, lint and the fast tests at the same time, for frequent use while writing code. */
import { ensureInstalled } from './install.mjs';
import { cpuOfChildren, seconds } from './run.mjs';
import { checkTests, takeAll, typesAndLint } from './steps.mjs';

ensureInstalled();
const started = Date.now();
const ok = await takeAll([checkTests, ...typesAndLint]);
console.log(`\n── check: ${ok ? 'passed' : 'failed'} in ${seconds(started)}${cpuOfChildren()}`);
process.exitCode = ok ? 0 : 1;
