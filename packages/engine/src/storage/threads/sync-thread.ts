/** The thread that syncs a redo log whose syncs take long. Started by `log-syncs.ts`; descriptors are those of the process. */
import { fdatasyncSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { EmulatedSync } from '../../model/emulated-sync.ts';
import { nodeClocks } from '../../node-clocks.ts';
import { openEmulatedDisk } from '../emulated-disk.ts';
import type { SyncReply } from './log-syncs.ts';

const port = parentPort!;
const { emulatedSync } = workerData as { emulatedSync: EmulatedSync };
const { clock } = nodeClocks;
const disk = openEmulatedDisk(emulatedSync, nodeClocks);

port.on('message', (descriptors: number[] | null) => {
  if (descriptors === null) {
    disk?.close();
    port.close();
    return;
  }
  let failure: string | null = null;
  const startedAtMs = clock.monotonicMs();
  try {
    disk?.begin();
    for (const descriptor of descriptors) fdatasyncSync(descriptor);
    disk?.end();
  } catch (error) {
    failure = (error as Error).message;
  }
  port.postMessage({ failure, ms: clock.monotonicMs() - startedAtMs } satisfies SyncReply);
});
