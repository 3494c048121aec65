/**
 * Two checkouts under the same workload, in turn: a pair is a trial of each, one right after the other, so that a slow minute of the
 * machine meets both. Their order alternates, since the second of a pair may find its files in the disk's cache.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readCpuTicks, shareOfOthers } from '../surroundings/cpu-of-others.ts';
import type { Workload } from './cases.ts';
import type { TrialOptions, TrialResult } from './trial-process.ts';

export interface MeasuredTrial extends TrialResult {
  /** Share of the machine's CPU that processes outside the trial used, 0 to 1; 0 where the platform does not tell. */
  othersShare: number;
}

export interface TrialPair {
  before: MeasuredTrial;
  after: MeasuredTrial;
}

export interface PairsOptions {
  /** Folders of the checkouts. */
  before: string;
  after: string;
  workload: Workload;
  pairs: number;
  measureMs: number;
  /** Parent of the scratch folders. */
  dataDir: string;
  onPair?(pair: TrialPair): void;
}

const run = promisify(execFile);

/** Rejects if a trial fails, for example because a message is lost or damaged. */
export async function runPairs(options: PairsOptions): Promise<TrialPair[]> {
  const { before, after, workload, measureMs, dataDir } = options;
  const measure = (checkout: string) => measureTrial({ ...workload, checkout, measureMs, dataDir });
  const pairs: TrialPair[] = [];
  while (pairs.length < options.pairs) {
    const isBeforeFirst = pairs.length % 2 === 0;
    const first = await measure(isBeforeFirst ? before : after);
    const second = await measure(isBeforeFirst ? after : before);
    const pair = isBeforeFirst ? { before: first, after: second } : { before: second, after: first };
    pairs.push(pair);
    options.onPair?.(pair);
  }
  return pairs;
}

async function measureTrial(options: TrialOptions): Promise<MeasuredTrial> {
  const ticks = readCpuTicks();
  const { stdout } = await run(process.execPath, [
    fileURLToPath(new URL('./trial-process.ts', import.meta.url)),
    JSON.stringify(options),
  ]);
  const ticksAfter = readCpuTicks();
  const othersShare = ticks === null || ticksAfter === null ? 0 : shareOfOthers(ticks, ticksAfter);
  return { ...(JSON.parse(stdout) as TrialResult), othersShare };
}
