/** `npm run torture -- --kills 1000 [--seed 7] [--dir folder] [--concurrency 2] [--setup cluster] [--workload topic] [--json out.json]` */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { exitCodes } from '../errors/exit-codes.ts';
import { integerOption } from '../errors/integer-option.ts';
import { makeDataFolder } from '../errors/writable-place.ts';
import { tortureLine, tortureReport } from './report.ts';
import { faultCount, runTorture } from './run-torture.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    dir: { type: 'string' },
    concurrency: { type: 'string', default: '2' },
    json: { type: 'string' },
    setup: { type: 'string', multiple: true },
    workload: { type: 'string', multiple: true },
  },
});

const kills = integerOption('kills', values.kills, 1);
const concurrency = integerOption('concurrency', values.concurrency, 1);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : integerOption('seed', values.seed, 0);
const dir = makeDataFolder('shardlab-torture-', { parent: values.dir ?? tmpdir(), json: values.json });
console.log(`Seed ${seed}, ${kills} kills, data in ${dir}`);

let printedAtMs = 0;
const state = await runTorture({
  kills,
  seed,
  dir,
  concurrency,
  ...(values.setup === undefined ? {} : { setupNames: values.setup }),
  ...(values.workload === undefined ? {} : { workloadNames: values.workload }),
  onProgress: (now) => {
    if (now.elapsedMs - printedAtMs < 5_000) return;
    printedAtMs = now.elapsedMs;
    console.log(tortureLine(now, kills));
  },
});
console.log(tortureReport(state));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(state, null, 2)}\n`);
if (faultCount(state) === 0) rmSync(dir, { recursive: true, force: true });
else console.log(`The data is kept in ${dir}`);
process.exitCode = faultCount(state) === 0 ? exitCodes.done : exitCodes.failed;
