/** The disk has no space for the redo log. `faults/full-disk.test.ts` has the same on disks that are really full. */
import { vi } from 'vitest';
import { RedoLog } from '../src/storage/redo/redo-log.ts';

/** Groups are refused while `work` runs: the log's writes fail as they do on a full disk. */
export async function whileLogFull(work: () => Promise<void>): Promise<void> {
  const append = vi.spyOn(RedoLog.prototype, 'append').mockImplementation(() => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  });
  try {
    await work();
  } finally {
    append.mockRestore();
  }
}
