/** One raw trial: `node raw-process.ts <job as JSON>`, forked by raw-limit.ts. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import type { RawJob, RawResult } from './raw-limit.ts';

const job = JSON.parse(process.argv[2] ?? '{}') as RawJob;
mkdirSync(job.dir, { recursive: true });
const file = new Database(join(job.dir, 'raw.db'));
file.pragma(`page_size = ${job.pageBytes}`);
file.pragma('journal_mode = WAL');
file.pragma('synchronous = FULL');
file.pragma('wal_autocheckpoint = 2000');
const stated = {
  sync: file.pragma('synchronous', { simple: true }),
  page: file.pragma('page_size', { simple: true }),
};
if (stated.sync !== 2 || stated.page !== job.pageBytes)
  throw new Error(`SQLite applied other settings: ${JSON.stringify(stated)}`);
file.exec('CREATE TABLE message (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT');

const insert = file.prepare('INSERT INTO message (body) VALUES (?)');
const select = file.prepare('SELECT seq, body FROM message ORDER BY seq LIMIT ?');
const remove = file.prepare('DELETE FROM message WHERE seq = ?');
const body = Buffer.alloc(job.payloadBytes, 7);

function inTransaction(work: () => void): void {
  file.exec('BEGIN IMMEDIATE');
  work();
  file.exec('COMMIT');
}

/** One transaction of inserts; in the full cycle a second one reads and deletes the rows, as job tables do. */
function step(): void {
  inTransaction(() => {
    for (let i = 0; i < job.operationsPerTransaction; i += 1) insert.run(body);
  });
  if (job.cycle === 'insert') return;
  inTransaction(() => {
    for (const { seq } of select.all(job.operationsPerTransaction) as { seq: number }[]) remove.run(seq);
  });
}

function measure(ms: number): number {
  const until = performance.now() + ms;
  let rows = 0;
  while (performance.now() < until) {
    step();
    rows += job.operationsPerTransaction;
  }
  return rows;
}

measure(job.measureMs / 5);
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
const rows = measure(job.measureMs);
const seconds = (performance.now() - startedAt) / 1_000;
const cpu = process.cpuUsage(cpuBefore);
file.close();
rmSync(job.dir, { recursive: true, force: true });
const result: RawResult = { rowsPerSec: rows / seconds, cpuUsPerRow: (cpu.user + cpu.system) / rows };
process.send!(result, () => process.disconnect!());
