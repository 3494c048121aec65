/** `npm run torture -- --kills 1000 [--seed 7] [--dir folder] [--concurrency 2] [--setup cluster] [--workload topic] [--json out.json]` */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { exitCodes } from '../errors/exit-codes.ts';
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

function integerFrom(name: string, text: string, min: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min) return value;
  process.stderr.write(`--${name} must be an integer of at least ${min}, not "${text}"\n`);
  process.exit(exitCodes.usage);
}

const kills = integerFrom('kills', values.kills, 1);
const concurrency = integerFrom('concurrency', values.concurrency, 1);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : integerFrom('seed', values.seed, 0);
const dir = mkdtempSync(join(resolve(values.dir ?? tmpdir()), 'shardlab-torture-'));
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
