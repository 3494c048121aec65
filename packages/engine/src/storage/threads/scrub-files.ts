/**
 * Reads the files of an instance from beginning to end and verifies what can be verified, slice by slice, so that the caller can
 * pause in between. Each slice has its own snapshot, so a pause delays no checkpoint. It finds damage of rows that are rarely
 * read before they are needed.
 */

import { existsSync } from 'node:fs';
import type { PartitionId } from '../../model/ids.ts';
import { scrubCatalog } from '../catalog/scrub-catalog.ts';
import { assertNoCommitsMissing } from '../instance-file/tables/last-group.ts';
import { findPartitionFaults, readPartitionRows } from '../instance-file/tables/read-partition.ts';
import { instanceTables } from '../instance-file/tables/registered-tables.ts';
import { faultsInSnapshot, faultsOf } from '../sqlite/find-faults.ts';
import { scrubUnshardedFile } from '../unsharded/scrub-unsharded-file.ts';

export interface ScrubbedFiles {
  dir: string;
  instancePath: string;
  /** Null if another instance of the cluster scrubs it. */
  unshardedPath: string | null;
}

/** Yields the faults of each slice, in sentences. Never throws: an error is a fault. */
export function* scrubFiles({ dir, instancePath, unshardedPath }: ScrubbedFiles): Generator<string[]> {
  yield* scrubCatalog(dir);
  yield* scrubInstanceFile(instancePath);
  if (unshardedPath !== null) yield* scrubUnshardedFile(unshardedPath);
}

function* scrubInstanceFile(path: string): Generator<string[]> {
  if (!existsSync(path)) {
    yield [`${path} is missing`];
    return;
  }
  const missing = faultsOf(path, () => {
    assertNoCommitsMissing(path);
    return [];
  });
  yield missing;
  if (missing.length > 0) return;
  for (const check of instanceTables.checks) yield faultsInSnapshot(path, check);
  let partitions: PartitionId[] = [];
  yield faultsInSnapshot(path, (file) => {
    const assigned = readPartitionRows(file).filter(({ queueId }) => queueId !== null);
    partitions = assigned.map(({ partition }) => partition);
    return [];
  });
  for (const partition of partitions)
    yield faultsInSnapshot(path, (file) => findPartitionFaults(file, partition));
}
