/** Copies the tables of an instance that may be running, with everything that was committed before. */
import { rmSync } from 'node:fs';
import type { Clock } from '../../model/ports.ts';
import { copyDatabase } from '../sqlite/copy-database.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from '../sqlite/write-ahead-log.ts';
import { InstanceFile } from './instance-file.ts';
import { withLaterSnapshots } from './tables/last-group.ts';

/** `to` must not exist. Throws the storage errors, `COMMITS_MISSING`. */
export function copyInstanceFile(from: string, to: string, clock: Clock): void {
  withLaterSnapshots(() => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(to + suffix, { force: true });
    // Read first: what is acknowledged at this moment must be in the copy.
    const acknowledged = readAcknowledgedNumber(acknowledgedNumberPath(from)) ?? 0;
    copyDatabase(from, to);
    const copy = new InstanceFile(to, clock, { acceptsLoss: true }); // its log is beside the other file
    try {
      copy.takeLogOf(from, acknowledged);
    } finally {
      copy.close();
    }
    rmSync(acknowledgedNumberPath(to), { force: true }); // it has none of its own yet
  });
}
