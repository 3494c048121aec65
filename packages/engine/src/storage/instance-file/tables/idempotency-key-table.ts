/**
 * Idempotency keys of committed transactions, each written in the transaction of its group. `number` counts them in the order of
 * their commits, so the oldest are found by its index: a write drops at most two of them, which is one more than it adds. Keys
 * also expire, but are deleted only when others are written; `queues/idempotency-keys.ts` ignores expired ones.
 *
 * Reads go by the primary key, through the reader thread: nothing of the table is in memory.
 */
import { limits } from '../../../api/limits.ts';
import type { IdempotencyKeyRow } from '../../../model/idempotency-key.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

type StoredRow = IdempotencyKeyRow & { number: number };

const keys = new CheckedTable<StoredRow>({
  name: 'shardlab_idempotency_key',
  columns: ['key', 'number', 'fingerprint', 'idRuns', 'committedAtMs'],
  key: ['key'],
});

export const idempotencyKeyTable = {
  schemaSql: `
    CREATE TABLE shardlab_idempotency_key (
      key TEXT PRIMARY KEY,
      number INTEGER NOT NULL,
      fingerprint BLOB NOT NULL,
      id_runs BLOB NOT NULL,
      committed_at_ms INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX shardlab_idempotency_key_number ON shardlab_idempotency_key (number);`,
  checkedTables: [keys],
  createAppliers: (file): WriteAppliers<'idempotency key'> => {
    const write = createKeyWriter(file, {
      keysMax: limits.idempotencyKeysMax,
      retentionMs: limits.idempotencyRetentionMs,
    });
    return { 'idempotency key': ({ row }) => write(row) };
  },
} satisfies TableModule;

/** Rows dropped with each write. */
const droppedPerWriteMax = 2;

export interface KeyRetention {
  keysMax: number;
  retentionMs: number;
}

/** Writes a key, replacing one that is too old, and drops the oldest ones past the bounds. */
export function createKeyWriter(
  file: SqliteFile,
  { keysMax, retentionMs }: KeyRetention,
): (row: IdempotencyKeyRow) => void {
  const insert = keys.createWriter(file);
  const selectLast = file.prepare('SELECT max(number) FROM shardlab_idempotency_key').pluck();
  const selectOldest = file.prepare(
    `SELECT number, committed_at_ms AS committedAtMs FROM shardlab_idempotency_key ORDER BY number LIMIT ${droppedPerWriteMax}`,
  );
  const drop = file.prepare('DELETE FROM shardlab_idempotency_key WHERE number = ?');
  return (row) => {
    const number = ((selectLast.get() as number | null) ?? 0) + 1;
    insert({ ...row, number });
    const oldest = selectOldest.all() as Pick<StoredRow, 'number' | 'committedAtMs'>[];
    for (const old of oldest) {
      if (number - old.number >= keysMax || row.committedAtMs - old.committedAtMs >= retentionMs)
        drop.run(old.number);
    }
  };
}

/** Undefined if no transaction has the key. Throws `STORAGE_CORRUPT` if the row is damaged. */
export function readIdempotencyKey(file: SqliteFile, key: string): IdempotencyKeyRow | undefined {
  const [found] = keys.read(file, 'WHERE key = ?', key);
  if (found === undefined) return undefined;
  const { number: _, ...row } = found;
  return row;
}
