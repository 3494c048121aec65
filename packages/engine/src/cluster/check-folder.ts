/** Looks over a cluster's folder, or repairs it; what a person runs after a fault of the storage. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { catalogPath } from '../storage/catalog-file.ts';
import { checkFile } from '../storage/check-file.ts';
import { checkInstance, type DamagedPartition, type InstanceCheck } from '../storage/check-instance.ts';
import { instancePath } from '../storage/instance-file.ts';
import { Membership } from '../storage/membership.ts';
import { repairInstance } from '../storage/repair-instance.ts';
import { unshardedPath } from '../storage/unsharded-file.ts';

export interface FolderCheck {
  dir: string;
  instances: InstanceCheck[];
  /** All that is wrong in all of its files, in sentences; none: the folder is whole. */
  faults: string[];
}

/** Changes nothing; instances may be at work meanwhile. Throws `STORAGE_READ_ONLY` if there is no such folder. */
export function checkFolder(dir: string): FolderCheck {
  const instances = instancesOf(dir).map((instance) => checkInstance(instancePath(dir, instance)));
  const others = [catalogPath(dir), unshardedPath(dir)].filter((path) => existsSync(path));
  const faults = [...instances.flatMap((each) => each.faults), ...others.flatMap(checkFile)];
  return { dir, instances, faults };
}

export interface FolderRepair {
  /** By number of the instance. */
  replaced: { instance: number; partitions: DamagedPartition[] }[];
}

/**
 * Accepts what is lost in the instances' files, so that they can be opened and served again. Keep a copy of the folder
 * first. Throws `INSTANCE_IN_USE`, and the storage errors where a file is beyond this repair.
 */
export function repairFolder(dir: string): FolderRepair {
  const membership = new Membership(dir, { busyMs: limits.catalogBusyMs });
  try {
    const replaced: FolderRepair['replaced'] = [];
    for (const instance of instancesOf(dir)) {
      const claim = membership.claim(instance, 'embedded');
      try {
        replaced.push({ instance, partitions: repairInstance(instancePath(dir, instance)) });
      } finally {
        membership.release(claim);
      }
    }
    return { replaced };
  } finally {
    membership.close();
  }
}

/** Those of which there is a file, or a note of what they acknowledged. */
function instancesOf(dir: string): number[] {
  const names = list(dir).map((name) => /^instance-(\d+)\.(?:db|ack)$/.exec(name)?.[1]);
  return [...new Set(names.filter((no) => no !== undefined).map(Number))].sort((a, b) => a - b);
}

function list(dir: string): string[] {
  try {
    return readdirSync(join(dir));
  } catch (cause) {
    throw new QueueError('STORAGE_READ_ONLY', {
      sentence: `${dir} cannot be read: ${(cause as Error).message}`,
      details: { path: dir },
      cause,
    });
  }
}
