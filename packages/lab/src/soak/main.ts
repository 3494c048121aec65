/** `npm run soak -- [--minutes 3] [--dir folder] [--seed 1] [--json out.json]` */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { exitCodes } from '../errors/exit-codes.ts';
import { makeDataFolder } from '../errors/writable-place.ts';
import { soakHeader, soakLine, soakReport } from './report.ts';
import { runSoak } from './run-soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    dir: { type: 'string' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});

const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes > 0 && minutes <= 24 * 60) || !Number.isInteger(seed)) {
  process.stderr.write('--minutes must be a number up to 1,440, and --seed an integer\n');
  process.exit(exitCodes.usage);
}
const saturateMs = 10_000;
const windowMs = 10_000;
const dir = makeDataFolder('shardlab-soak-', { parent: values.dir ?? tmpdir(), json: values.json });
console.log(
  `Measuring the maximum rate for ${saturateMs / 1_000} s, then ${minutes} minutes at 70 % of it; data in ${dir}`,
);
console.log(soakHeader);
try {
  const result = await runSoak({
    dir,
    saturateMs,
    steadyMs: minutes * 60_000,
    windowMs,
    seed,
    onWindow: (window, memory, log) => console.log(soakLine(window, windowMs, memory, log)),
  });
  console.log(soakReport(result));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
  process.exitCode = result.passed ? exitCodes.done : exitCodes.failed;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
