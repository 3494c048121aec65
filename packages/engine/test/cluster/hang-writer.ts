/**
 * Loaded by `--import` into a process of a cluster and all of its threads. Once the file named by HANG_WRITER exists, the writer threads
 * hang for good in the middle of their next commit, with the lock on their file.
 */
import { existsSync } from 'node:fs';
import { threadName } from 'node:worker_threads';
import Database from 'better-sqlite3';

const flag = process.env.HANG_WRITER;

if (threadName === 'writer-thread' && flag !== undefined) {
  const hangBefore = (sql: string) => {
    if (sql.startsWith('COMMIT') && existsSync(flag)) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }
  };
  const { exec, prepare } = Database.prototype;
  Database.prototype.exec = function (sql: string) {
    hangBefore(sql);
    return exec.call(this, sql);
  };
  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    const statement = prepare.call(this, sql);
    if (!sql.startsWith('COMMIT')) return statement;
    const run = statement.run.bind(statement) as (...values: unknown[]) => Database.RunResult;
    statement.run = () => {
      hangBefore(sql);
      return run();
    };
    return statement;
  } as typeof prepare;
}
