/** Which statements SQLite compiles in the prepare and the commit of a branch with rows, which is most of their CPU. */
import { beforeEach, expect, it } from 'vitest';
import { nodePorts } from '../../src/node-ports.ts';
import { ApplicationSqlExecutor } from '../../src/storage/application-sql/application-sql-executor.ts';
import { openInMemory, type SqliteFile } from '../../src/storage/sqlite/open-sqlite.ts';
import { observeCalls } from '../observe-calls.ts';

let file: SqliteFile;
let sql: ApplicationSqlExecutor;
/** Rows of prepared branches by the key of the xid, as in `xa_branch`. */
let stored: Map<string, string>;

beforeEach(() => {
  file = openInMemory();
  stored = new Map();
  sql = new ApplicationSqlExecutor({
    file,
    engineNames: new Set(),
    clock: nodePorts.clock,
    readPreparedBranches: () => stored,
  });
  file.exec(`CREATE TABLE plain (id INTEGER PRIMARY KEY, a);
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (id INTEGER PRIMARY KEY REFERENCES parent)`);
});

const key = { formatId: 1, gtrid: Buffer.from('t'), bqual: Buffer.from('a') };

/** Prepares and commits a branch of one statement; returns the text of each statement that SQLite compiled. */
function runBranch(statement: string, parameters: number[]): string[] {
  const compiled: string[] = [];
  const onCall = ({ args: [text] }: { args: readonly [text: string, ...rest: unknown[]] }) =>
    void compiled.push(text);
  const ends = [
    observeCalls(file, 'prepare', onCall),
    observeCalls(file, 'exec', onCall),
    observeCalls(file, 'pragma', onCall),
  ];
  file.prepare('BEGIN').run();
  const { outcome, rows } = sql.prepareBranch('branch', [{ sql: statement, parameters }]);
  expect(outcome.failure).toBe(null);
  stored.set('branch', rows);
  expect(sql.commitBranch(key).failure).toBe(null);
  sql.prepared.locks.release('branch');
  stored.clear();
  file.prepare('COMMIT').run();
  for (const end of ends) end();
  return compiled;
}

const readsSchema = (text: string) => /pragma_|sqlite_schema AS/.test(text);
/** Such a pragma makes SQLite compile all statements of the file again. */
const expiresAll = (text: string) => text.includes('defer_foreign_keys');

it('a branch does not read the definition of a table again that an earlier one has read', () => {
  expect(runBranch('INSERT INTO plain VALUES (?, 1)', [1]).filter(readsSchema)).not.toEqual([]);
  expect(runBranch('INSERT INTO plain VALUES (?, 1)', [2]).filter(readsSchema)).toEqual([]);
  file.exec('BEGIN');
  sql.run([{ sql: 'ALTER TABLE plain ADD COLUMN b', parameters: [] }]);
  file.exec('COMMIT');
  expect(runBranch('INSERT INTO plain VALUES (?, 1, 2)', [3]).filter(readsSchema)).not.toEqual([]);
  expect(file.prepare('SELECT * FROM plain').raw().all()).toEqual([
    [1, 1, null],
    [2, 1, null],
    [3, 1, 2],
  ]);
});

it('a branch does not make SQLite recompile other statements, unless foreign keys must be deferred', () => {
  expect(runBranch('INSERT INTO plain VALUES (?, 1)', [1]).filter(expiresAll)).toEqual([]);
  expect(runBranch('INSERT INTO parent VALUES (?)', [1]).filter(expiresAll)).not.toEqual([]);
});
