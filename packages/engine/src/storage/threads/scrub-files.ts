/**
 * Reads the files of an instance from beginning to end and verifies what can be verified, a slice after the other, so that
 * whoever runs it can pause in between. Each slice has a snapshot of its own: a pause keeps no checkpoint waiting. It finds
 * damage of rows that nobody reads for long, before somebody needs them.
 */
import { existsSync } from 'node:fs';
import { findCatalogFaults } from '../catalog/catalog-file.ts';
import { assertNoCommitsMissing } from '../instance-file/tables/last-group.ts';
import { findPartitionFaults, readPartitionRows } from '../instance-file/tables/read-partition.ts';
import { tableChecks } from '../instance-file/tables/registered-tables.ts';
import { isNewFile } from '../sqlite/file-format.ts';
import { openSqlite, toQueueError } from '../sqlite/open-sqlite.ts';
import { findUnshardedFaults } from '../unsharded/unsharded-integrity.ts';

export interface ScrubbedFiles {
  dir: string;
  instancePath: string;
  /** Null if another instance of the cluster scrubs it. */
  unshardedPath: string | null;
}

/** Yields the faults of each slice, in sentences. Never throws: an error is a fault. */
export function* scrubFiles({ dir, instancePath, unshardedPath }: ScrubbedFiles): Generator<string[]> {
  yield faultsOf(dir, () => findCatalogFaults(dir));
  yield* scrubInstanceFile(instancePath);
  if (unshardedPath !== null) yield faultsOf(unshardedPath, () => findUnshardedFaults(unshardedPath));
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
  for (const check of tableChecks) yield readFile(path, check);
  let partitions: number[] = [];
  yield readFile(path, (file) => {
    const assigned = readPartitionRows(file).filter(({ queueId }) => queueId !== null);
    partitions = assigned.map(({ partition }) => partition);
    return [];
  });
  for (const partition of partitions) yield readFile(path, (file) => findPartitionFaults(file, partition));
}

function readFile(path: string, find: (file: ReturnType<typeof openSqlite>) => string[]): string[] {
  return faultsOf(path, () => {
    const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
    try {
      if (isNewFile(file)) return [];
      file.exec('BEGIN'); // one snapshot
      return find(file);
    } finally {
      file.close();
    }
  });
}

function faultsOf(path: string, find: () => string[]): string[] {
  try {
    return find().map((fault) => (fault.includes(path) ? fault : `${path}: ${fault}`));
  } catch (error) {
    const { message } = toQueueError(error, path);
    return [message.includes(path) ? message : `${path}: ${message}`];
  }
}
