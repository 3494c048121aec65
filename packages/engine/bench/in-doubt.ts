/**
 * What a branch in doubt costs the others. Sessions commit a message and a change of a row each, in a table of which a prepared
 * branch has locked other rows: at first without it, then while it is in doubt, then after it has been committed. Prints the
 * median rates of each phase over windows of 250 ms, and the ratio of that in doubt to that of the two beside it.
 *
 *     node packages/engine/bench/in-doubt.ts [--inDoubtMs 60000] [--besideMs 30000] [--sessions 8] [--rows 200] [--dataDir .]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openInstance } from '../src/index.ts';

const { values } = parseArgs({
  options: {
    inDoubtMs: { type: 'string', default: '60000' },
    besideMs: { type: 'string', default: '30000' },
    sessions: { type: 'string', default: '8' },
    rows: { type: 'string', default: '200' },
    dataDir: { type: 'string', default: '.' },
  },
});
const [inDoubtMs, besideMs, sessions, rows] = [
  values.inDoubtMs,
  values.besideMs,
  values.sessions,
  values.rows,
].map(Number) as [number, number, number, number];
const windowMs = 250;
const accounts = 10_000;
const payload = 'x'.repeat(512);

const dir = mkdtempSync(join(values.dataDir, '.bench-in-doubt-'));
const instance = await openInstance({ dir });
let stopped = false;
let commits = 0;

async function prepareTables(): Promise<void> {
  await instance.createQueue({ name: 'moved' });
  await instance.createQueue({ name: 'held' });
  const session = instance.openSession();
  session.execute('CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance INTEGER)');
  await session.commit();
  for (let id = 0; id < accounts; id += 500) {
    for (let each = id; each < id + 500; each += 1)
      session.execute('INSERT INTO account VALUES (?, ?, 100)', [each, `account ${each}`]);
    await session.commit();
  }
  for (let row = 0; row < rows; row += 1) session.enqueue('held', { payload });
  await session.commit();
  await session.close();
}

/** Consumes what it enqueues, so that the file does not grow with the run. */
async function work(number: number): Promise<void> {
  const session = instance.openSession();
  for (let turn = 0; !stopped; turn += 1) {
    const id = rows + ((turn * sessions + number) % (accounts - rows));
    session.execute('UPDATE account SET balance = balance + 1 WHERE id = ?', [id]);
    if (turn % 2 === 0) session.enqueue('moved', { payload });
    else await session.dequeue('moved');
    await session.commit();
    commits += 1;
  }
  await session.close();
}

/** Commits per second: the median of windows. */
async function measure(ms: number): Promise<number> {
  const rates: number[] = [];
  for (let at = 0; at < ms; at += windowMs) {
    const [startedAtMs, before] = [performance.now(), commits];
    await pause(windowMs);
    rates.push(((commits - before) * 1_000) / (performance.now() - startedAtMs));
  }
  return rates.sort((a, b) => a - b)[rates.length >> 1]!;
}

const xid = { formatId: 1, gtrid: Buffer.from('in doubt'), bqual: Buffer.from('a') };

async function prepareBranch(): Promise<void> {
  const session = instance.openSession();
  await session.xa!.start(xid);
  const { length } = await session.dequeue('held', { max: rows });
  if (length !== rows) throw new Error(`the branch holds ${length} messages instead of ${rows}`);
  session.execute('UPDATE account SET balance = balance - 1 WHERE id < ?', [rows]);
  await session.xa!.end(xid);
  await session.xa!.prepare(xid);
  await session.close();
}

try {
  await prepareTables();
  const working = Array.from({ length: sessions }, (_, number) => work(number));
  await measure(Math.min(besideMs, 3_000)); // until all is compiled
  const before = await measure(besideMs);
  await prepareBranch();
  const inDoubt = await measure(inDoubtMs);
  await instance.xa.commit(xid);
  const after = await measure(besideMs);
  stopped = true;
  await Promise.all(working);
  const ratio = inDoubt / ((before + after) / 2);
  const round = (value: number) => Math.round(value);
  console.log(
    JSON.stringify({
      sessions,
      rows,
      inDoubtMs,
      besideMs,
      commitsPerSec: { before: round(before), inDoubt: round(inDoubt), after: round(after) },
      ratio: Math.round(ratio * 1_000) / 1_000,
    }),
  );
} finally {
  await instance.close();
  rmSync(dir, { recursive: true, force: true });
}
