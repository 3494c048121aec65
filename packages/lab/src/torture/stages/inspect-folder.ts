/** Looks at all that a folder holds, when nobody works on it, and tells the ledger. */
import { type Instance, openInstance, type ServedInstance, serveInstance } from '@shardlab/engine';
import { actorNamed } from '../actors/index.ts';
import type { Ledger } from '../ledger.ts';
import type { Delivered } from '../notes.ts';
import { partitionMessagesMax } from '../task.ts';

export interface UsedFolder {
  dir: string;
  instances: number;
  /** Names of the loads that were on it. */
  actors: Iterable<string>;
}

export async function inspectFolder(folder: UsedFolder, ledger: Ledger): Promise<void> {
  try {
    ledger.check(await allOf(folder));
  } catch (error) {
    ledger.failed(`${folder.dir} cannot be looked into: ${(error as Error).stack ?? String(error)}`);
  }
}

/** Short: what was forwarded to where nobody is now is to come home. */
const forwardIdleMs = 10;

async function allOf({ dir, instances, actors }: UsedFolder): Promise<Delivered[]> {
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
      for (const name of actors) {
        const actor = actorNamed(name);
        if (index === 0 || actor.shared !== true) found.push(...(await actor.inspect(instance, all)));
      }
    }
    return found;
  } finally {
    for (const each of [...served, ...all]) await each.close();
  }
}
