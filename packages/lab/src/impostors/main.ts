/** `npm run controls -- [--seeds 4] [--from 1] [--repeats 5] [--only reference] [--only counter] [--dir folder]` */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { exitCodes } from '../errors/exit-codes.ts';
import { integerOption } from '../errors/integer-option.ts';
import {
  type ControlOptions,
  decidedByReference,
  impostorControls,
  randomisedControl,
  referenceControl,
  runControl,
} from './controls.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '4' },
    from: { type: 'string', default: '1' },
    repeats: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true },
    dir: { type: 'string' },
  },
});

const seeds = integerOption('seeds', values.seeds, 0);
const from = integerOption('from', values.from, 1);
const repeats = integerOption('repeats', values.repeats, 1);
const ofQueues: ControlOptions = { program: 'queue', instances: [1, 2], threads: [1, 8, 32], repeats };
// With ten subscribers for each thread.
const ofTopics: ControlOptions = { program: 'topic', instances: [1, 2], threads: [1, 4, 16], repeats };
const all = [
  referenceControl(ofQueues),
  ...[ofQueues, ofTopics].flatMap((options) => [
    ...impostorControls(options),
    ...Array.from({ length: seeds }, (_, index) => randomisedControl(from + index, options)),
  ]),
];
const { only = all.map(({ name }) => name) } = values;
const unknown = only.find((wanted) => !all.some(({ name }) => name === wanted));
if (unknown !== undefined) {
  process.stderr.write(
    `no control is named "${unknown}". There are: ${all.map(({ name }) => name).join('; ')}\n`,
  );
  process.exit(exitCodes.usage);
}
const controls = all.filter(({ name }) => only.includes(name));
const dir = mkdtempSync(join(resolve(values.dir ?? tmpdir()), 'shardlab-controls-'));
console.log(`${controls.length} of ${all.length} controls; data in ${dir}`);
console.log('With five repeats each takes about four minutes, with topics seven, the reference ten.');
if (only.includes('reference'))
  console.log('Claims of the reference may be inconclusive if the machine does something else meanwhile.');
let failed = 0;
try {
  for (const control of controls) {
    const { held, heldUnexposed, faults } = await runControl(control, dir);
    if (faults.length > 0) failed += 1;
    const holds = held.length === 0 ? 'no claim holds' : `hold: ${held.join(', ')}`;
    const otherwise = control.isReference
      ? `must: ${decidedByReference.join(', ')}`
      : `if neither a kill nor the kernel told: ${heldUnexposed.join(', ') || 'none'}`;
    console.log(`${faults.length === 0 ? 'ok    ' : 'FAILED'} ${control.name}: ${holds} (${otherwise})`);
    for (const fault of faults) console.log(`       ${fault}`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? exitCodes.done : exitCodes.failed;
