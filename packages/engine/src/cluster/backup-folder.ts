/**
 * Copies a cluster's folder while its processes go on: each file as of one moment, and of an instance everything that was committed
 * before its copy began. The copy can be opened, on this machine or another, as the folder of a cluster that was closed.
 *
 * An instance's tables are copied within one read transaction, by SQLite; what the redo log has behind them is then applied to the
 * copy, which so needs no log. The catalog comes last, so that it knows every queue of which a copied instance has messages.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { QueueError } from '../api/errors.ts';
import { assertName } from '../model/call-arguments.ts';
import type { InstanceId } from '../model/ids.ts';
import { nodePorts } from '../node-ports.ts';
import { catalogPath } from '../storage/catalog/catalog-file.ts';
import { disownCatalog } from '../storage/catalog/disown-catalog.ts';
import { copyInstanceFile } from '../storage/instance-file/copy-instance-file.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { readForwardedIn, readForwardedOut } from '../storage/instance-file/tables/forwarding-table.ts';
import { copyDatabase } from '../storage/sqlite/copy-database.ts';
import { openSqlite, type SqliteFile } from '../storage/sqlite/open-sqlite.ts';
import { makeFolder, syncFolder } from '../storage/sqlite/sync-folder.ts';
import { unshardedPath } from '../storage/unsharded/unsharded-file.ts';

export interface FolderBackup {
  into: string;
  instances: InstanceId[];
}

/** Copies of instances that exchange messages are made again until they fit together, so often at most. */
const copiesMax = 10;

/**
 * `into`: a folder that does not exist or is empty. Throws `OPTIONS_INVALID`, the storage errors, and `STORAGE_FAILED` if messages move
 * between the instances all the time. Transactions over several instances that are under way are in doubt in the copy.
 */
export function backupFolder(dir: string, into: string): FolderBackup {
  assertName('dir', dir);
  assertName('into', into);
  if (!existsSync(catalogPath(dir)))
    throw new QueueError('OPTIONS_INVALID', { message: `There are no queues in the folder ${dir}` });
  if (existsSync(into) && readdirSync(into).length > 0)
    throw new QueueError('OPTIONS_INVALID', {
      message: `${into} is not empty: a backup begins in a new folder`,
    });
  makeFolder(into);
  const instances = readdirSync(dir)
    .map((name) => Number(/^instance-(\d+)\.db$/.exec(name)?.[1]))
    .filter((instance) => instance > 0)
    .sort((a, b) => a - b);
  const copy = (instance: InstanceId) =>
    copyInstanceFile(instanceFilePath(dir, instance), instanceFilePath(into, instance), nodePorts.clock);
  for (const instance of instances) copy(instance);
  for (let copies = 1; ; copies += 1) {
    const behind = receiversBehind(into, instances);
    if (behind.length === 0) break;
    if (copies === copiesMax)
      throw new QueueError('STORAGE_FAILED', {
        message: `Messages move between the instances of ${dir} all the time: stop their consumers for the backup`,
      });
    for (const instance of behind) {
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(instanceFilePath(into, instance) + suffix, { force: true });
      copy(instance);
    }
  }
  if (existsSync(unshardedPath(dir))) copyDatabase(unshardedPath(dir), unshardedPath(into));
  copyDatabase(catalogPath(dir), catalogPath(into));
  disownCatalog(catalogPath(into));
  syncFolder(into);
  return { into, instances };
}

/** Instances whose copies lack messages that the copy of another has given them: they were made too early. */
function receiversBehind(into: string, instances: readonly InstanceId[]): InstanceId[] {
  const rows = instances.map((instance) =>
    withFile(instanceFilePath(into, instance), (file) => ({
      instance,
      out: readForwardedOut(file),
      in: readForwardedIn(file),
    })),
  );
  return rows
    .filter((receiver) =>
      rows.some((sender) =>
        sender.out.some(
          ({ queueId, shard, receiver: to, batchNumber }) =>
            to === receiver.instance &&
            !receiver.in.some(
              (row) =>
                row.queueId === queueId &&
                row.shard === shard &&
                row.sender === sender.instance &&
                row.batchNumber >= batchNumber,
            ),
        ),
      ),
    )
    .map(({ instance }) => instance);
}

function withFile<T>(path: string, read: (file: SqliteFile) => T): T {
  const file = openSqlite({ path, readonly: true });
  try {
    return read(file);
  } finally {
    file.close();
  }
}
