/** Reads the complete contents of a folder that no process uses, and compares them with the ledger. */
import { type Instance, openInstance, type ServedInstance, serveInstance } from '@shardlab/engine';
import type { Ledger } from '../ledger.ts';
import type { Delivered } from '../notes.ts';
import { partitionMessagesMax } from '../worker-task.ts';
import { workloadNamed } from '../workloads/index.ts';

export interface UsedFolder {
  dir: string;
  instances: number;
  /** Names of the workloads that used the folder. */
  workloads: Iterable<string>;
}

export async function inspectFolder(folder: UsedFolder, ledger: Ledger): Promise<void> {
  try {
    ledger.compareWithFound(await browseAll(folder));
  } catch (error) {
    ledger.recordFailure(`${folder.dir} cannot be inspected: ${(error as Error).stack ?? String(error)}`);
  }
}

/** Short, so that forwarded messages without a consumer are returned to their owner soon. */
const forwardIdleMs = 10;

async function browseAll({ dir, instances, workloads }: UsedFolder): Promise<Delivered[]> {
  const all: Instance[] = [];
  const served: ServedInstance[] = [];
  try {
    for (let id = 1; id <= instances; id += 1) {
      const instance = await openInstance({ dir, instance: id, partitionMessagesMax });
      all.push(instance);
      served.push(await serveInstance(instance, { forwardIdleMs }));
    }
    const found: Delivered[] = [];
    for (const [index, instance] of all.entries()) {
      for (const name of workloads) {
        const workload = workloadNamed(name);
        if (index === 0 || workload.sharesMessages !== true)
          found.push(...(await workload.inspect(instance, all)));
      }
    }
    return found;
  } finally {
    for (const opened of [...served, ...all]) await opened.close();
  }
}
