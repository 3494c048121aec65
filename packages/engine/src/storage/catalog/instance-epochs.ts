/**
 * The epoch of each instance's last opening, which the catalog is told before the instance serves. So an instance whose files are all
 * gone, or are those from before an opening, is not taken for a new one: nothing beside them would know what was acknowledged.
 */
import type { Epoch, InstanceId } from '../../model/ids.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';

const settingOf = (instance: InstanceId) => `epoch_of_${instance}`;

/** 0 for an instance that was never opened. */
export function readEpochOf(catalog: SqliteFile, instance: InstanceId): Epoch {
  const select = catalog.prepare('SELECT value FROM setting WHERE name = ?').pluck();
  return (select.get(settingOf(instance)) as Epoch | undefined) ?? 0;
}

/** Of all instances that were ever opened and not forgotten. */
export function readEpochs(catalog: SqliteFile): Map<InstanceId, Epoch> {
  const rows = catalog.prepare("SELECT name, value FROM setting WHERE name GLOB 'epoch_of_*'").raw().all();
  return new Map((rows as [string, Epoch][]).map(([name, epoch]) => [Number(name.split('_')[2]), epoch]));
}

export function writeEpochOf(catalog: SqliteFile, instance: InstanceId, epoch: Epoch): void {
  catalog.prepare('INSERT OR REPLACE INTO setting VALUES (?, ?)').run(settingOf(instance), epoch);
}

/** The instance has left the cluster, or its loss was accepted: its files may be missing. */
export function forgetEpochOf(catalog: SqliteFile, instance: InstanceId): void {
  catalog.prepare('DELETE FROM setting WHERE name = ?').run(settingOf(instance));
}
