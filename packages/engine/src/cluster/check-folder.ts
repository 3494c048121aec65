/** Checks or repairs a cluster's folder; for an operator after a storage fault. */

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { assertName } from '../model/call-arguments.ts';
import type { Epoch, InstanceId } from '../model/ids.ts';
import { nodePorts } from '../node-ports.ts';
import { acceptCatalogLoss, catalogPath, findCatalogFaults } from '../storage/catalog/catalog-file.ts';
import { readEpochs } from '../storage/catalog/instance-epochs.ts';
import { Membership } from '../storage/catalog/membership.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import {
  checkInstanceFile,
  type DamagedPartition,
  type InstanceFileCheck,
} from '../storage/instance-file/recovery/check-instance-file.ts';
import {
  type InstanceFileRepair,
  repairInstanceFile,
} from '../storage/instance-file/repair-instance-file.ts';
import { lockIdleLog } from '../storage/redo/log-lock.ts';
import { openSqlite } from '../storage/sqlite/open-sqlite.ts';
import { repairUnshardedFile } from '../storage/unsharded/repair-unsharded-file.ts';
import { unshardedPath } from '../storage/unsharded/unsharded-file.ts';
import { findUnshardedFaults } from '../storage/unsharded/unsharded-integrity.ts';
import { findUnknownFormats } from './unknown-formats.ts';

export interface FolderCheck {
  dir: string;
  instances: InstanceFileCheck[];
  /** The faults of all files, as sentences; empty if the folder is intact. */
  faults: string[];
}

/** Changes nothing; instances may be running. Throws `STORAGE_READ_ONLY` if there is no such folder. */
export function checkFolder(dir: string): FolderCheck {
  assertName('dir', dir);
  const epochs = readEpochsOf(dir);
  const instances = listInstances(dir, epochs).map((instance) =>
    checkInstanceFile(instanceFilePath(dir, instance), epochs.get(instance)),
  );
  const faults = [
    ...findFormatFaults(dir),
    ...instances.flatMap(({ faults }) => faults),
    ...findCatalogFaults(dir),
    ...findUnshardedFaults(unshardedPath(dir)),
  ];
  return { dir, instances, faults };
}

export interface FolderRepair {
  /** Sorted by instance. */
  replaced: { instance: InstanceId; partitions: DamagedPartition[] }[];
  /** All other faults that were accepted, as sentences: of the catalog, of the unsharded file, and of tables beside the messages. */
  accepted: string[];
}

/**
 * Accepts what is lost in the instances' files, so that they can be opened and served again. Keep a copy of the folder
 * first. Throws `INSTANCE_IN_USE`, and the storage errors where a file is beyond this repair.
 */
export function repairFolder(dir: string): FolderRepair {
  assertName('dir', dir);
  const accepted = acceptCatalogLoss(dir);
  const membership = new Membership(dir, {
    busyMs: limits.catalogBusyMsMax,
    processes: nodePorts.processes,
  });
  try {
    const replaced: FolderRepair['replaced'] = [];
    const epochs = membership.epochs();
    for (const instance of listInstances(dir, epochs)) {
      const claim = membership.claim(instance, 'embedded');
      try {
        const path = instanceFilePath(dir, instance);
        if (!existsSync(path)) {
          accepted.push(`${path} is missing: the instance begins anew`);
          membership.forgetEpochOf(instance);
        }
        const repair = repairUnused(path, epochs.get(instance));
        replaced.push({ instance, partitions: repair.replaced });
        accepted.push(...repair.accepted);
      } finally {
        membership.releaseClaim(claim);
      }
    }
    const isHosted = membership.hosts().some((host) => nodePorts.processes.isAlive(host));
    if (!isHosted) accepted.push(...repairUnshardedFile(unshardedPath(dir)));
    return { replaced, accepted };
  } finally {
    membership.close();
  }
}

function repairUnused(path: string, epochKnown: Epoch | undefined): InstanceFileRepair {
  const lock = lockIdleLog(path);
  try {
    return repairInstanceFile(path, nodePorts.clock, epochKnown);
  } finally {
    lock.release();
  }
}

/** Instances that have a database file or a record of their acknowledged groups, or were ever opened. */
function listInstances(dir: string, epochs: ReadonlyMap<InstanceId, Epoch>): InstanceId[] {
  const names = readFolder(dir).map((name) => /^instance-(\d+)\.(?:db|ack)$/.exec(name)?.[1]);
  const found = names.filter((digits) => digits !== undefined).map(Number);
  return [...new Set([...found, ...epochs.keys()])].sort((a, b) => a - b);
}

/** Empty if the catalog cannot be read, which is a fault of its own. */
function readEpochsOf(dir: string): Map<InstanceId, Epoch> {
  const path = catalogPath(dir);
  if (!existsSync(path)) return new Map();
  try {
    const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
    try {
      return readEpochs(file);
    } finally {
      file.close();
    }
  } catch {
    return new Map();
  }
}

function findFormatFaults(dir: string): string[] {
  const paths = readFolder(dir)
    .filter((name) => name.endsWith('.db'))
    .map((name) => join(dir, name));
  return findUnknownFormats(paths).map(
    (path) => `${basename(path)} is damaged: its header names a format that SQLite does not know`,
  );
}

function readFolder(dir: string): string[] {
  try {
    return readdirSync(join(dir));
  } catch (cause) {
    throw new QueueError('STORAGE_READ_ONLY', {
      message: `${dir} cannot be read: ${(cause as Error).message}`,
      details: { path: dir },
      cause,
    });
  }
}
