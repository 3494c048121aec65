/** The processes that hold messages of the unsharded file. The messages of a dead process become ready again. */

import { QueueError } from '../../api/errors.ts';
import type { HolderId, Pid } from '../../model/ids.ts';
import type { ProcessIdentity } from '../../model/ports.ts';
import { rowChecksum } from '../checksum.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import { undamagedDeliverySql } from './delivery-table.ts';
import { undamagedRecipientSql } from './recipient-table.ts';

export const holderTableSql = `
  CREATE TABLE holder (
    holder INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL,
    crc INTEGER NOT NULL             -- over pid and pid_started
  ) STRICT;
`;

export interface HolderRow {
  holder: HolderId;
  pid: Pid;
  started: string;
  crc: number;
}

export function isHolderUndamaged({ pid, started, crc }: HolderRow): boolean {
  return crc === rowChecksum([pid, started]);
}

export function readHolders(file: SqliteFile): HolderRow[] {
  return file.prepare('SELECT holder, pid, pid_started AS started, crc FROM holder').all() as HolderRow[];
}

const isHeldByNobody = 'holder > 0 AND holder NOT IN (SELECT holder FROM holder)';

export class HolderTable {
  readonly #file: SqliteFile;
  readonly #select: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#select = file.prepare('SELECT 1 FROM holder WHERE holder = ?').pluck();
  }

  /** Returns the number of a process that opens the file. */
  add({ pid, started }: ProcessIdentity): HolderId {
    const { lastInsertRowid } = this.#file
      .prepare('INSERT INTO holder (pid, pid_started, crc) VALUES (?, ?, ?)')
      .run(pid, started, rowChecksum([pid, started]));
    return Number(lastInsertRowid);
  }

  has(holder: HolderId): boolean {
    return this.#select.get(holder) === 1;
  }

  /** Throws `STORAGE_CORRUPT`. */
  all(): HolderRow[] {
    const holders = readHolders(this.#file);
    const damaged = holders.find((row) => !isHolderUndamaged(row));
    if (damaged === undefined) return holders;
    throw new QueueError('STORAGE_CORRUPT', {
      message: `Holder ${damaged.holder} in ${this.#file.name} is damaged (checksum mismatch)`,
      details: { path: this.#file.name, holder: damaged.holder },
    });
  }

  /** Inside a write transaction: removes a holder; its messages become ready again. Returns their number. */
  remove(holder: HolderId): number {
    const changes = heldTables.map(
      ({ table, undamagedSql }) =>
        this.#file.prepare(`UPDATE ${table} SET holder = 0 WHERE holder = ? AND ${undamagedSql}`).run(holder)
          .changes,
    );
    this.#file.prepare('DELETE FROM holder WHERE holder = ?').run(holder);
    return changes.reduce((sum, count) => sum + count, 0);
  }

  /** Whether a message is held by a process that is not known. */
  get holdsUnknown(): boolean {
    return heldTables.some(
      ({ table }) =>
        this.#file.prepare(`SELECT 1 FROM ${table} WHERE ${isHeldByNobody} LIMIT 1`).get() !== undefined,
    );
  }

  /** Inside a write transaction: a damaged file may have lost the row of a holder, whose messages must not stay held for ever. */
  releaseHeldByUnknown(): void {
    for (const { table, undamagedSql } of heldTables)
      this.#file.exec(`UPDATE ${table} SET holder = 0 WHERE ${isHeldByNobody} AND ${undamagedSql}`);
  }
}

const heldTables = [
  { table: 'delivery', undamagedSql: undamagedDeliverySql },
  { table: 'recipient', undamagedSql: undamagedRecipientSql },
];
