/** How long the disk takes to sync a small write now. */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const syncBytes = 4096;
/** Fewer syncs prove nothing, however slow the disk is. */
const samplesMin = 5;

/** Milliseconds, sorted. Appends 4 KiB to a file in the folder and syncs, as often as `samples` and `budgetMs` allow, at least five times. */
export async function probeSync(
  folder: string,
  { samples, budgetMs }: { samples: number; budgetMs: number },
): Promise<number[]> {
  const path = join(folder, 'sync-probe');
  const file = await open(path, 'w');
  const block = Buffer.alloc(syncBytes, 0x5a);
  const times: number[] = [];
  try {
    const deadline = performance.now() + budgetMs;
    while (times.length < samples && (times.length < samplesMin || performance.now() < deadline)) {
      const start = performance.now();
      await file.write(block);
      await file.datasync();
      times.push(performance.now() - start);
    }
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
  return times.sort((a, b) => a - b);
}
