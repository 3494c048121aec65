/** Reads the complete contents of a folder that no process uses, for the history. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Instance, openInstance, type ServedInstance, serveInstance } from '@shardlab/engine';
import type { Content, FolderHistory } from '../processes/folder-history.ts';
import { partitionMessagesMax } from '../processes/worker-task.ts';
import { workloadNamed } from '../workloads/index.ts';

export interface UsedFolder {
  dir: string;
  instances: number;
  /** Names of the workloads that used the folder. */
  workloads: Iterable<string>;
}

/** Adds to the history what is left, and why if that cannot be read. */
export async function inspectFolder(folder: UsedFolder, history: FolderHistory): Promise<void> {
  try {
    await history.inspect(() => readAll(folder, history));
    writeFileSync(join(folder.dir, 'history.jsonl'), history.text);
  } catch (error) {
    history.recordFailure(`${folder.dir} cannot be inspected: ${(error as Error).stack ?? String(error)}`);
  }
}

/** Short, so that forwarded messages without a consumer are returned to their owner soon. */
const forwardIdleMs = 10;

async function readAll(
  { dir, instances, workloads }: UsedFolder,
  history: FolderHistory,
): Promise<Content[]> {
  const all: Instance[] = [];
  const served: ServedInstance[] = [];
  try {
    for (let id = 1; id <= instances; id += 1) {
      const instance = await openInstance({ dir, instance: id, partitionMessagesMax });
      all.push(instance);
      served.push(await serveInstance(instance, { forwardIdleMs }));
    }
    const found: Content[] = [];
    for (const [index, instance] of all.entries()) {
      for (const name of workloads) {
        const workload = workloadNamed(name);
        if (index === 0 || workload.sharesMessages !== true)
          found.push(...(await workload.inspect({ instance, all, history })));
      }
    }
    return found;
  } finally {
    for (const opened of [...served, ...all]) await opened.close();
  }
}
