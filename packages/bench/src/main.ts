/** `npm run bench -- [--quick] [--json out.json] [--docs docs/benchmarks.md] [--data-dir folder] [--resume journal]` */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { scales } from './plan/scale.ts';
import { benchOf } from './report/bench.ts';
import { documentOf } from './report/document.ts';
import { faultsOf } from './report/results.ts';
import { terminalReport } from './report/terminal.ts';
import { measure } from './run-bench.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    docs: { type: 'string' },
    'data-dir': { type: 'string', default: '.' },
    resume: { type: 'string' },
  },
});

const payloadBytes = 512;
const tmpfsMagic = 0x01021994;
/** Disk space for the largest backlog: its rows and the write-ahead log. */
const diskBytesPerMessage = 2 * payloadBytes;
const diskBytesLeast = 2 ** 30;

const scale = values.quick ? scales.quick : scales.full;
const parent = resolve(values['data-dir']);
const refusal = refusalOf(parent);
if (refusal !== null) {
  console.error(`${refusal} Choose another folder with --data-dir.`);
  process.exit(1);
}
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
const dataDir = mkdtempSync(join(parent, 'shardlab-bench-'));
chmodSync(dataDir, 0o755); // servers that run as another user need access to their folders
try {
  const measured = await measure({
    dataDir,
    scale,
    payloadBytes,
    journal: values.resume ?? null,
    signal: interrupted.signal,
    onProgress: ({ done, total, what }) => console.log(`${String(done + 1).padStart(4)}/${total}  ${what}`),
  });
  const bench = benchOf(measured, scale.standing);
  console.log(terminalReport(bench));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(bench, null, 2)}\n`);
  if (values.docs !== undefined) {
    const tried = readFileSync(new URL('../tried.md', import.meta.url), 'utf8');
    writeFileSync(values.docs, documentOf(bench, tried));
  }
  const faulty = bench.results.some(({ integrity }) => faultsOf(integrity) > 0);
  if (faulty || bench.failures.length > 0) process.exitCode = 1;
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  console.error('Interrupted. With --resume FILE a later run can continue this one.');
  process.exitCode = 1;
} finally {
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 });
}

function refusalOf(folder: string): string | null {
  const { type, bavail, bsize } = statfsSync(folder);
  if (type === tmpfsMagic) return `${folder} is in memory (tmpfs), where syncs cost nothing.`;
  const needed = Math.max(diskBytesLeast, scale.standing.large * diskBytesPerMessage);
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  if (bavail * bsize >= needed) return null;
  return `The bench needs ${gib(needed)} in ${folder}, but only ${gib(bavail * bsize)} are free.`;
}
