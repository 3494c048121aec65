/** The environment of a run, on which its figures depend, captured before the first trial. */
import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Environment } from '@shardlab/contract';
import { sqliteVersion } from '@shardlab/engine';
import { probeSync } from '../surroundings/sync-probe.ts';

const syncSamples = 100;
/** Bounded so that a disk with a sync of 20 ms does not delay the run for long. */
const syncBudgetMs = 1_500;

/** Takes up to about 1.5 s, most of it for syncs in the data folder. */
export async function captureEnvironment(folder: string): Promise<Environment> {
  const [fileSystem, syncMs, commit] = await Promise.all([
    fileSystemOf(folder),
    measureSync(folder),
    gitCommit(),
  ]);
  return {
    cpuModel: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGiB: Number((totalmem() / 1024 ** 3).toFixed(1)),
    platform: `${platform()} ${release()} ${arch()}`,
    fileSystem,
    syncMs,
    node: process.version,
    sqlite: sqliteVersion(),
    commit,
    loadAverage: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

/** Milliseconds. */
async function measureSync(folder: string): Promise<Environment['syncMs']> {
  const times = await probeSync(folder, { samples: syncSamples, budgetMs: syncBudgetMs });
  const at = (share: number) =>
    Number(times[Math.min(times.length - 1, Math.floor(times.length * share))]!.toFixed(3));
  return { p50: at(0.5), p99: at(0.99) };
}

async function fileSystemOf(folder: string): Promise<string> {
  if (platform() !== 'linux') return platform();
  try {
    return fileSystemFromMounts(await readFile('/proc/mounts', 'utf8'), await realpath(folder));
  } catch {
    return 'unknown';
  }
}

/** The file system type of a path: that of the longest mount point that is a prefix of it, and the last one mounted there. */
export function fileSystemFromMounts(mounts: string, path: string): string {
  let best = { point: '', type: 'unknown' };
  for (const line of mounts.split('\n')) {
    const [, rawPoint, type] = line.split(' ');
    if (rawPoint === undefined || type === undefined) continue;
    const point = rawPoint.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const inside = point === '/' || path === point || path.startsWith(`${point}/`);
    if (inside && point.length >= best.point.length) best = { point, type };
  }
  return best.type;
}

/** Null outside a checkout, or without git. */
async function gitCommit(): Promise<string | null> {
  try {
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    const { stdout } = await promisify(execFile)('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd,
      timeout: 2_000,
    });
    return stdout.trim() || null;
  } catch {
    return null;
  }
}
