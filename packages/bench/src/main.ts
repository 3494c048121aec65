/** `npm run bench -- [--quick] [--json out.json] [--data-dir folder]` */
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { reportOf } from './report.ts';
import { runBench } from './run-bench.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    'data-dir': { type: 'string', default: '.' },
  },
});

const tmpfsMagic = 0x01021994;
const parent = resolve(values['data-dir']);
if (statfsSync(parent).type === tmpfsMagic) {
  console.error(
    `${parent} is in memory (tmpfs): a sync there costs nothing. Name a folder on a disk with --data-dir.`,
  );
  process.exit(1);
}
const dataDir = mkdtempSync(join(parent, 'shardlab-bench-'));
try {
  const bench = await runBench({
    dataDir,
    rounds: values.quick ? 1 : 3,
    measureMs: values.quick ? 1_000 : 3_000,
    payloadBytes: 512,
    onProgress: (done, total, what) => console.log(`${String(done + 1).padStart(3)}/${total}  ${what}`),
  });
  console.log(reportOf(bench));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(bench, null, 2)}\n`);
  const faulty = bench.results.some(({ integrity: { lost, duplicated, damaged, outOfOrder } }) =>
    [lost, duplicated, damaged, outOfOrder].some((count) => count > 0),
  );
  if (faulty) process.exitCode = 1;
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
