/**
 * Distributed transactions: the branches that are prepared on this instance, and the transactions that its coordinator has
 * decided to commit. Each row is a promise; there is none for a branch or transaction that is rolled back.
 */
import type { DecisionRow, PreparedBranchKey, PreparedBranchRow } from '../../../model/xa-rows.ts';
import { xidKey } from '../../../model/xid.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const branches = new CheckedTable<PreparedBranchRow>({
  name: 'xa_branch',
  columns: ['formatId', 'gtrid', 'bqual', 'content', 'rows', 'preparedAtMs'],
  key: ['formatId', 'gtrid', 'bqual'],
});
const decisions = new CheckedTable<DecisionRow>({
  name: 'xa_decision',
  columns: ['gtrid', 'participants', 'decidedAtMs'],
  key: ['gtrid'],
});

/**
 * Reads the branches in doubt that have rows of the application, by their xid's key; with `only` just the one of this xid. Throws
 * `STORAGE_CORRUPT`.
 */
export function readBranchesWithRows(
  file: SqliteFile,
  only?: PreparedBranchKey,
): (readonly [branch: string, rows: string])[] {
  const found =
    only === undefined
      ? branches.read(file, "WHERE rows <> ''")
      : branches.read(
          file,
          'WHERE format_id = ? AND gtrid = ? AND bqual = ?',
          only.formatId,
          only.gtrid,
          only.bqual,
        );
  return found.map((row) => [xidKey(row), row.rows]);
}

export const xaTables = {
  schemaSql: `
    CREATE TABLE xa_branch (
      format_id INTEGER NOT NULL,
      gtrid BLOB NOT NULL,
      bqual BLOB NOT NULL,
      content BLOB NOT NULL,       -- messages that it enqueues and consumes: xa/branch-content.ts
      rows TEXT NOT NULL,          -- the application's rows as it leaves them, and what is locked meanwhile:
                                   -- storage/application-sql/branch-rows.ts; '' without any
      prepared_at_ms INTEGER NOT NULL,
      crc INTEGER NOT NULL,
      PRIMARY KEY (format_id, gtrid, bqual)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE xa_decision (
      gtrid BLOB PRIMARY KEY,
      participants TEXT NOT NULL,  -- JSON list of those that have a branch to commit
      decided_at_ms INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [branches, decisions],
  createAppliers: (
    file,
  ): WriteAppliers<'prepare branch' | 'end branch' | 'decide commit' | 'forget decision'> => ({
    'prepare branch': ({ row }) => branches.createWriter(file)(row),
    'end branch': ({ key: { formatId, gtrid, bqual } }) => {
      file
        .prepare('DELETE FROM xa_branch WHERE format_id = ? AND gtrid = ? AND bqual = ?')
        .run(formatId, gtrid, bqual);
    },
    'decide commit': ({ row }) => decisions.createWriter(file)(row),
    'forget decision': ({ gtrid }) => {
      file.prepare('DELETE FROM xa_decision WHERE gtrid = ?').run(gtrid);
    },
  }),
  bodyBytes: { 'prepare branch': ({ row }) => row.content.byteLength },
  /** All rows: the number of branches is bounded. */
  recover: (file) => ({ preparedBranches: branches.read(file), decisions: decisions.read(file) }),
} satisfies TableModule;
