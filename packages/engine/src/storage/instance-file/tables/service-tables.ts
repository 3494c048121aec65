/**
 * Singleton services of the instance: what each asked to keep, and who had it when. Both are written under the instance's
 * epoch, as everything in its file, so a process that no longer hosts the instance can write neither.
 */
import { limits } from '../../../api/limits.ts';
import type { ServiceStateRow, ServiceTenureRow } from '../../../model/service-rows.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const states = new CheckedTable<ServiceStateRow>({
  name: 'service_state',
  columns: ['name', 'epoch', 'state'],
  key: ['name'],
});
const tenures = new CheckedTable<ServiceTenureRow>({
  name: 'service_tenure',
  columns: ['name', 'number', 'epoch', 'pid', 'host', 'activatedAtMs', 'deactivatedAtMs'],
  key: ['name', 'number'],
});

export const serviceTables = {
  schemaSql: `
    CREATE TABLE service_state (
      name TEXT PRIMARY KEY,
      epoch INTEGER NOT NULL,
      state TEXT NOT NULL,              -- JSON
      crc INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE service_tenure (
      name TEXT NOT NULL,
      number INTEGER NOT NULL,          -- from 1; the newest ones are kept
      epoch INTEGER NOT NULL,
      pid INTEGER NOT NULL,
      host INTEGER NOT NULL,            -- the instance to which the process belongs
      activated_at_ms INTEGER NOT NULL,
      deactivated_at_ms INTEGER NOT NULL, -- 0: not in order
      crc INTEGER NOT NULL,
      PRIMARY KEY (name, number)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [states, tenures],
  createAppliers: (file): WriteAppliers<'service state' | 'service tenure'> => ({
    'service state': ({ row }) => states.createWriter(file)(row),
    'service tenure': ({ row }) => {
      tenures.createWriter(file)(row);
      file
        .prepare('DELETE FROM service_tenure WHERE name = ? AND number <= ?')
        .run(row.name, row.number - limits.serviceTenuresKept);
    },
  }),
  recover: (file) => ({ services: { states: states.read(file), tenures: tenures.read(file) } }),
} satisfies TableModule;
