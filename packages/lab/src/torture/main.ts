/** `npm run torture -- --kills 1000 [--seed 7] [--dir folder] [--lanes 2] [--stage cluster] [--load topic] [--json out.json]` */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { exitCodes } from '../cli/exit-codes.ts';
import { tortureLine, tortureReport } from './report.ts';
import { faultCount, runTorture } from './run-torture.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    dir: { type: 'string' },
    lanes: { type: 'string', default: '2' },
    json: { type: 'string' },
    stage: { type: 'string', multiple: true },
    load: { type: 'string', multiple: true },
  },
});

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  process.stderr.write(`--${name} is a whole number from ${least} on, not "${text}"\n`);
  process.exit(exitCodes.usage);
}

const kills = whole('kills', values.kills, 1);
const lanes = whole('lanes', values.lanes, 1);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : whole('seed', values.seed, 0);
const dir = mkdtempSync(join(resolve(values.dir ?? tmpdir()), 'shardlab-torture-'));
console.log(`seed ${seed}, ${kills} kills, data in ${dir}`);

let saidAt = 0;
const state = await runTorture({
  kills,
  seed,
  dir,
  lanes,
  ...(values.stage === undefined ? {} : { stageNames: values.stage }),
  ...(values.load === undefined ? {} : { actorNames: values.load }),
  onProgress: (now) => {
    if (now.elapsedMs - saidAt < 5_000) return;
    saidAt = now.elapsedMs;
    console.log(tortureLine(now, kills));
  },
});
console.log(tortureReport(state));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(state, null, 2)}\n`);
if (faultCount(state) === 0) rmSync(dir, { recursive: true, force: true });
else console.log(`The files are kept in ${dir}`);
process.exitCode = faultCount(state) === 0 ? exitCodes.done : exitCodes.failed;
