/** Groups with statements are in the tables and not in the redo log; those around them are in the log. After a kill all of them are there, in order. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openInstance, repairFolder } from '../../src/index.ts';
import { checkInstanceFile } from '../../src/storage/instance-file/recovery/check-instance-file.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { bytesOf, digest } from '../streams/payloads.ts';
import { code, openApplication, rowsOf, run } from './application.ts';

const worker = fileURLToPath(new URL('./steps-worker.ts', import.meta.url));

type Step = 'plain' | 'statement' | 'query' | 'stream' | 'apply';

/** Returns when the process that made the steps has been killed behind the last one. */
async function killAfter(dir: string, first: number, steps: readonly Step[]): Promise<void> {
  const child = spawn(process.execPath, [worker, dir, `${first}`, ...steps], { stdio: 'inherit' });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}

const messagesOf = (first: number, steps: readonly Step[]) =>
  steps.map((step, index) => `${first + index} ${step}`).filter((payload) => !payload.endsWith('apply'));

const rowsOfSteps = (first: number, steps: readonly Step[]) =>
  steps.flatMap((step, index) => (step === 'plain' || step === 'apply' ? [] : [{ id: first + index }]));

const fileOf = (dir: string) => join(dir, 'instance-1.db');

/** What opens the folder must find, in this order. */
async function expectContent(dir: string, messages: readonly string[], rows: readonly { id: number }[]) {
  const instance = await openTestInstance({ dir });
  expect(text(await instance.openSession().dequeue('q', { max: 999 }))).toEqual(messages);
  if (rows.length > 0) expect(await rowsOf(instance)).toEqual(rows);
  await instance.close();
}

describe('a kill right after an answer', () => {
  const steps: Step[] = ['plain', 'statement', 'plain', 'statement', 'plain', 'query', 'plain'];

  it.each(steps.map((_, index) => index + 1))(
    'of step %i of seven loses nothing',
    { timeout: 60_000 },
    async (count) => {
      const dir = makeFolder();
      const done = steps.slice(0, count);
      await killAfter(dir, 1, done);
      // A plain group behind a statement is in the log, and the tables do not have it yet.
      expect(checkInstanceFile(fileOf(dir))).toMatchObject({
        faults: [],
        unappliedGroups: done.at(-1) === 'plain' ? 1 : 0,
      });
      await expectContent(dir, messagesOf(1, done), rowsOfSteps(1, done));
    },
  );

  it('finds a streamed payload, whose chunks are in the log, with the rows of its transaction', {
    timeout: 60_000,
  }, async () => {
    const dir = makeFolder();
    await killAfter(dir, 1, ['plain', 'stream', 'plain']);
    const instance = await openTestInstance({ dir });
    const messages = await instance.openSession().dequeue('q', { max: 9 });
    expect(messages.map(({ correlationId }) => correlationId)).toEqual([undefined, '2 stream', undefined]);
    expect(await digest(messages[1]!.payloadStream())).toEqual(await digest(bytesOf(2, 2 ** 20)));
    expect(await rowsOf(instance)).toEqual([{ id: 2 }]);
  });

  it('of one opening after the other loses nothing, wherever the next one begins in the log', {
    timeout: 120_000,
  }, async () => {
    const dir = makeFolder();
    const rounds: Step[][] = [
      ['statement'],
      ['plain', 'plain'],
      ['plain', 'apply', 'query', 'plain', 'apply', 'plain', 'statement'],
      ['statement', 'plain'],
      ['plain', 'plain', 'query'],
    ];
    const messages: string[] = [];
    const rows: { id: number }[] = [];
    for (const round of rounds) {
      const first = messages.length * 10 + 1;
      await killAfter(dir, first, round);
      messages.push(...messagesOf(first, round));
      rows.push(...rowsOfSteps(first, round));
      expect(checkInstanceFile(fileOf(dir)).faults).toEqual([]);
    }
    await expectContent(dir, messages, rows);
  });
});

describe('tables from before a statement', () => {
  const names = ['instance-1.db', 'instance-1.db-wal'];
  const restore = (dir: string, copy: string) => {
    rmSync(`${fileOf(dir)}-shm`, { force: true });
    for (const name of names) {
      rmSync(join(dir, name), { force: true });
      if (existsSync(join(copy, name))) copyFileSync(join(copy, name), join(dir, name));
    }
  };

  it.each([
    { what: 'of the same opening', rounds: [['statement', 'plain']] },
    { what: 'of the opening before', rounds: [['statement'], ['plain']] },
  ] as { what: string; rounds: Step[][] }[])(
    'are noticed by the record behind that, $what, and a repair gives up what follows',
    { timeout: 60_000 },
    async ({ rounds }) => {
      const [dir, copy] = [makeFolder(), makeFolder()];
      await killAfter(dir, 1, ['plain', 'statement', 'plain', 'apply']);
      for (const name of names)
        if (existsSync(join(dir, name))) copyFileSync(join(dir, name), join(copy, name));
      for (const [index, round] of rounds.entries()) await killAfter(dir, 11 + 10 * index, round);
      expect(checkInstanceFile(fileOf(dir)).faults).toEqual([]);
      restore(dir, copy);
      expect(checkInstanceFile(fileOf(dir)).faults.join()).toContain('ran statements of the application');
      await expect(openInstance({ dir })).rejects.toThrow(code('COMMITS_MISSING'));
      const { accepted } = repairFolder(dir);
      expect(accepted.join()).toContain('ran statements of the application');
      await expectContent(dir, messagesOf(1, ['plain', 'statement', 'plain']), [{ id: 2 }]);
    },
  );
});

it('a statement over its time limit fails alone, and the plain groups behind it are in the log', {
  timeout: 60_000,
}, async () => {
  const dir = makeFolder();
  const { instance, session } = await openApplication({ dir });
  const before = instance.openSession();
  before.enqueue('q', { payload: 'before' });
  await before.commit();
  const tables = Array.from({ length: 13 }, (_, index) => `a b${index}`);
  session.enqueue('q', { payload: 'slow' });
  session.execute(
    `WITH a(x) AS (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) SELECT count(*) FROM a, ${tables.join(', ')}`,
  );
  const slow = session.commit();
  slow.catch(() => undefined);
  await nextTurn(); // its group is closed
  await nextTurn();
  const behind: Promise<unknown>[] = [];
  for (let index = 0; index < 3; index += 1) {
    const plain = instance.openSession();
    plain.enqueue('q', { payload: `behind ${index}` });
    behind.push(plain.commit());
    await nextTurn();
  }
  await Promise.all(behind);
  await expect(slow).rejects.toThrow(code('SQL_TOO_SLOW'));
  // Each is in the log, which a read of the tables waits for.
  expect(checkInstanceFile(fileOf(dir)).faults).toEqual([]);
  await instance.checkpoint();
  await run(instance.openSession(), 'INSERT INTO item (id) VALUES (1)');
  await instance.close();
  await expectContent(dir, ['before', 'behind 0', 'behind 1', 'behind 2'], []);
});

it.each(['the first statement', 'a later statement'])(
  '%s is refused while what is before it cannot be applied, and nothing else is lost',
  {
    timeout: 120_000,
  },
  async (which) => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, logBytesMax: 64 * 2 ** 20 });
    await instance.createQueue({ name: 'q', durability: 'relaxed' });
    const session = instance.openSession();
    const createSql = 'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY)';
    if (which === 'a later statement') await run(session, createSql);
    else {
      session.enqueue('q', { payload: 'first' });
      await session.commit();
    }
    // A reader that stays open keeps SQLite's own log from being written over.
    const reader = new Database(fileOf(dir), { readonly: true });
    onTestFinished(() => void reader.close());
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM sqlite_schema').get();
    let acknowledged = instance.queue('q').enqueued;
    for (let refused = false; !refused; acknowledged += refused ? 0 : 1) {
      session.enqueue('q', { payload: Buffer.alloc(2 ** 20) });
      await session.commit().catch((error: unknown) => {
        expect(error).toEqual(code('LOG_FULL'));
        refused = true;
      });
    }
    await expect(run(session, createSql)).rejects.toThrow(code('LOG_FULL'));
    await expect(session.query(createSql)).rejects.toThrow(code('LOG_FULL'));
    await session.rollback();
    reader.exec('COMMIT');
    await run(session, createSql);
    await session.query('INSERT INTO item VALUES (1)');
    session.enqueue('q', { payload: 'last' });
    await session.commit();
    expect(await rowsOf(instance)).toEqual([{ id: 1 }]);
    await instance.close();
    const again = await openTestInstance({ dir });
    expect(again.queue('q').ready).toBe(acknowledged + 1);
  },
);
