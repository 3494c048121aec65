/**
 * Loaded before the server (`--import`), and with it in each of its threads: once the file named by STUCK_WRITER_FLAG
 * exists, a writer thread opens the FIFO named by STUCK_WRITER_FIFO instead of committing. Nobody writes to that, so the
 * thread is stuck in a call of the system, where nothing in the process can reach it.
 */
import { existsSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { threadName } from 'node:worker_threads';
import type SqliteDatabase from 'better-sqlite3';

const { STUCK_WRITER_FLAG: flag, STUCK_WRITER_FIFO: fifo } = process.env;

if (threadName === 'writer-thread' && flag !== undefined && fifo !== undefined) {
  const engine = createRequire(new URL('../../../packages/engine/package.json', import.meta.url));
  const { prototype } = engine('better-sqlite3') as typeof SqliteDatabase;
  const hangBefore = (sql: string) => {
    if (sql.startsWith('COMMIT') && existsSync(flag)) openSync(fifo, 'r');
  };
  const { exec, prepare } = prototype;
  prototype.exec = function (sql: string) {
    hangBefore(sql);
    return exec.call(this, sql);
  };
  prototype.prepare = function (this: SqliteDatabase.Database, sql: string) {
    const statement = prepare.call(this, sql);
    if (!sql.startsWith('COMMIT')) return statement;
    const run = statement.run.bind(statement) as (...values: unknown[]) => SqliteDatabase.RunResult;
    statement.run = () => {
      hangBefore(sql);
      return run();
    };
    return statement;
  } as typeof prepare;
}
