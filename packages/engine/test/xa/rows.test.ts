/** Branches of distributed transactions that change rows of the application: prepared, locked, and ended after restarts. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkFolder, openInstance } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { branchWith, isWaiting, openWithTables, prepared, rows, run, shareInstance } from './rows-support.ts';
import { code, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

const accounts = [
  'CREATE TABLE account (id INTEGER PRIMARY KEY, owner TEXT UNIQUE, balance INTEGER CHECK (balance >= 0))',
  "INSERT INTO account VALUES (1, 'ann', 100), (2, 'bob', 100), (3, 'cid', 100)",
];
const balances = 'SELECT id, balance FROM account ORDER BY id';
const xid = xidOf('transfer 1');
const pay = (id: number, amount: number) =>
  ['UPDATE account SET balance = balance - ? WHERE id = ?', [amount, id]] as const;

describe('a prepared branch with rows', () => {
  it('shows rows and messages once it is committed, and not before', async () => {
    const instance = await openWithTables(accounts);
    await put(instance, 'orders', 'o1');
    const session = instance.openSession();
    await xaOf(session).start(xid);
    await session.dequeue('orders');
    session.execute(...pay(1, 30));
    session.execute("INSERT INTO account VALUES (4, 'dan', 30)");
    session.execute('DELETE FROM account WHERE id = 3');
    session.enqueue('shipments', { payload: 's1' });
    await xaOf(session).end(xid);
    expect(await xaOf(session).prepare(xid)).toBe('ok');
    expect((await rows(instance, balances)).map(({ balance }) => balance)).toEqual([100, 100, 100]);
    expect(await takeAll(instance, 'shipments')).toEqual([]);
    await xaOf(session).commit(xid);
    expect(await rows(instance, balances)).toEqual([
      { id: 1, balance: 70 },
      { id: 2, balance: 100 },
      { id: 4, balance: 30 },
    ]);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
    expect(await takeAll(instance, 'orders')).toEqual([]);
    await run(instance, pay(1, 1)); // No row is locked any more.
  });

  it('leaves rows unchanged and unlocked at a rollback', async () => {
    const instance = await openWithTables(accounts);
    const session = await prepared(instance, xid, pay(1, 30), "INSERT INTO account VALUES (4, 'dan', 30)");
    await xaOf(session).rollback(xid);
    await run(instance, pay(1, 1), "INSERT INTO account VALUES (4, 'dan', 1)");
    expect((await rows(instance, balances)).map(({ balance }) => balance)).toEqual([99, 100, 100, 1]);
  });

  it('writes the values that its statements computed at the prepare', async () => {
    const instance = await openWithTables([
      'CREATE TABLE log (id INTEGER PRIMARY KEY, at TEXT, draw INTEGER)',
    ]);
    await run(instance, 'CREATE TABLE total (n)', 'INSERT INTO total VALUES (0)');
    const session = await prepared(
      instance,
      xid,
      "INSERT INTO log VALUES (1, strftime('%Y-%m-%d %H:%M:%f', 'now'), random())",
      'UPDATE total SET n = (SELECT draw FROM log)',
    );
    await xaOf(session).commit(xid);
    const [row] = await rows(instance, 'SELECT draw = n AS same, draw <> 0 AS drawn FROM log, total');
    expect(row).toEqual({ same: 1, drawn: 1 });
  });

  it('is read-only if its statements change no row in the end, and locks nothing', async () => {
    const instance = await openWithTables(accounts);
    const session = await branchWith(
      instance,
      xid,
      balances,
      pay(9, 1),
      "INSERT INTO account VALUES (5, 'eve', 1)",
      'DELETE FROM account WHERE id = 5',
    );
    expect(await xaOf(session).prepare(xid)).toBe('read-only');
    expect(await xaOf(session).recover()).toEqual([]);
    await run(instance, "INSERT INTO account VALUES (5, 'eve', 1)");
  });

  it('is refused at the prepare if a statement fails, and undone as a whole', async () => {
    const instance = await openWithTables(accounts);
    await put(instance, 'orders', 'o1');
    const session = instance.openSession();
    await xaOf(session).start(xid);
    await session.dequeue('orders');
    session.execute(...pay(1, 30));
    session.execute(...pay(1, 80));
    await xaOf(session).end(xid);
    const refused = xaOf(session).prepare(xid);
    await expect(refused).rejects.toMatchObject({ code: 'XA_RBINTEGRITY', details: { cause: 'SQL_FAILED' } });
    const unknown = await branchWith(instance, xid, 'INSERT INTO nowhere VALUES (1)');
    await expect(xaOf(unknown).prepare(xid)).rejects.toEqual(code('XA_RBOTHER'));
    expect((await rows(instance, balances))[0]).toEqual({ id: 1, balance: 100 });
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
  });

  it('stays in doubt with its locks over a restart, and can be ended after it', async () => {
    const dir = makeFolder();
    const first = await openInstance({ dir });
    await first.createQueue({ name: 'orders' });
    await run(first, ...accounts);
    await prepared(first, xid, pay(1, 30));
    await prepared(first, xidOf('transfer 2'), pay(2, 30));
    await first.close();
    const second = await openTestInstance({ dir, sqlLockMsMax: 20 });
    await expect(run(second, pay(1, 1))).rejects.toEqual(code('SQL_LOCK_TIMEOUT'));
    await run(second, pay(3, 1));
    await second.xa.commit(xid);
    await second.xa.rollback(xidOf('transfer 2'));
    await run(second, pay(1, 1), pay(2, 1));
    expect((await rows(second, balances)).map(({ balance }) => balance)).toEqual([69, 99, 99]);
  });

  it.each<[string, string]>([
    ['changed', `UPDATE xa_branch SET rows = replace(rows, 'i70', 'i99')`],
    ['gone', 'DELETE FROM xa_branch'],
  ])('is reported as damaged if its stored row is %s', async (_how, damage) => {
    const dir = makeFolder();
    const instance = await openInstance({ dir });
    await run(instance, ...accounts);
    await prepared(instance, xid, pay(1, 30));
    await instance.close();
    expect(checkFolder(dir).faults).toEqual([]);
    const file = new Database(join(dir, 'instance-1.db'));
    file.exec(`CREATE TEMP TABLE sums AS SELECT * FROM meta WHERE key = 'stored xa_branch'`);
    expect(file.prepare(damage).run().changes).toBe(1);
    file.exec(`UPDATE meta SET value = (SELECT value FROM sums) WHERE key = 'stored xa_branch'`);
    file.close();
    expect(checkFolder(dir).faults.join()).toContain('xa_branch');
    await expect(openInstance({ dir })).rejects.toEqual(code('STORAGE_CORRUPT'));
  });

  it('can take over the statements of another branch of its transaction', async () => {
    const instance = await openWithTables(accounts);
    const [one, two] = [xidOf('pair', 'one'), xidOf('pair', 'two')];
    const first = await branchWith(instance, one, pay(1, 10));
    await branchWith(instance, two, pay(2, 20));
    expect(await xaOf(first).prepare(one)).toBe('read-only');
    expect(await xaOf(first).prepare(two)).toBe('ok');
    await xaOf(first).commit(two);
    expect((await rows(instance, balances)).map(({ balance }) => balance)).toEqual([90, 80, 100]);
  });

  it('keeps its locks when the writer process is killed because of a slow statement', {
    timeout: 30_000,
  }, async () => {
    const instance = await openWithTables(accounts, { sqlLockMsMax: 20 });
    const session = await prepared(instance, xid, pay(1, 30));
    const endless = `WITH a(x) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10))
      SELECT count(*) FROM ${Array.from({ length: 14 }, (_, index) => `a AS a${index}`).join(', ')}`;
    await expect(run(instance, endless)).rejects.toEqual(code('SQL_TOO_SLOW'));
    await expect(run(instance, pay(1, 1))).rejects.toEqual(code('SQL_LOCK_TIMEOUT'));
    const slow = await branchWith(instance, xidOf('slow'), pay(2, 1), endless);
    await expect(xaOf(slow).prepare(xidOf('slow'))).rejects.toMatchObject({
      details: { cause: 'SQL_TOO_SLOW' },
    });
    await xaOf(session).commit(xid);
    await run(instance, pay(1, 1), pay(2, 1));
    expect((await rows(instance, balances)).map(({ balance }) => balance)).toEqual([69, 99, 100]);
  });
});

describe('the values of a prepared branch', () => {
  const shared = shareInstance();
  beforeAll(() => run(shared.current, 'CREATE TABLE any (id INTEGER PRIMARY KEY, value)'));

  it.each<[string, unknown]>([
    ['null', null],
    ['an integer of 64 bits', -(2n ** 63n)],
    ['a real', 0.1],
    ['a real without a fraction', 1e300],
    ['an infinite real', Number.POSITIVE_INFINITY],
    ['text', 'ünï\u0000cödé 𝄞'],
    ['bytes', Uint8Array.of(0, 255, 128)],
    ['no bytes', new Uint8Array()],
  ])('stores %s exactly', async (_what, value) => {
    const instance = shared.current;
    await run(instance, 'DELETE FROM any');
    const bound = value as string;
    const session = await prepared(instance, xid, ['INSERT INTO any VALUES (1, ?)', [bound]]);
    await run(instance, ['INSERT INTO any VALUES (2, ?)', [bound]]);
    await xaOf(session).commit(xid);
    const [row] = await rows(
      instance,
      'SELECT a.value IS b.value AND typeof(a.value) = typeof(b.value) AS same FROM any AS a, any AS b WHERE a.id = 1 AND b.id = 2',
    );
    expect(row).toEqual({ same: 1 });
  });

  it('stores text that is not UTF-8 unchanged', async () => {
    const instance = shared.current;
    await run(instance, 'DELETE FROM any');
    const session = await prepared(instance, xid, "INSERT INTO any VALUES (1, CAST(x'ff41' AS TEXT))");
    await xaOf(session).commit(xid);
    const [row] = await rows(instance, 'SELECT typeof(value) AS type, hex(value) AS bytes FROM any');
    expect(row).toEqual({ type: 'text', bytes: 'FF41' });
  });
});

describe('rows that a branch in doubt has locked', () => {
  it('are read unchanged, and a commit that writes to one waits until the branch ends', async () => {
    const instance = await openWithTables(accounts);
    const session = await prepared(instance, xid, pay(1, 30));
    const waits = run(instance, pay(1, 5));
    expect(await isWaiting(instance, waits)).toBe(true);
    expect((await rows(instance, balances))[0]).toEqual({ id: 1, balance: 100 });
    await run(
      instance,
      pay(2, 1),
      "INSERT INTO account VALUES (4, 'dan', 1)",
      'DELETE FROM account WHERE id = 3',
    );
    await xaOf(session).commit(xid);
    await waits;
    expect((await rows(instance, balances))[0]).toEqual({ id: 1, balance: 65 });
    const event = instance.waits.snapshot().find(({ event }) => event === 'enq: TX - row lock contention');
    expect(event).toMatchObject({ waits: 1, emulated: false });
  });

  it('make a query fail at once, since it must not keep the writer waiting', async () => {
    const instance = await openWithTables(accounts);
    const session = await prepared(instance, xid, pay(1, 30));
    const other = instance.openSession();
    await other.query(...pay(2, 1));
    await expect(other.query(...pay(1, 1))).rejects.toEqual(code('SQL_LOCKED'));
    await other.commit();
    await xaOf(session).commit(xid);
    expect((await rows(instance, balances)).map(({ balance }) => balance)).toEqual([70, 99, 100]);
  });

  it('are no longer waited for when the instance is closed', async () => {
    const dir = makeFolder();
    const instance = await openInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    await run(instance, ...accounts);
    await prepared(instance, xid, pay(1, 30));
    const session = instance.openSession();
    session.execute(...pay(1, 1));
    const waits = session.commit();
    expect(await isWaiting(instance, waits)).toBe(true);
    await Promise.all([expect(waits).rejects.toEqual(code('INSTANCE_CLOSED')), instance.close()]);
  });

  it('do not change the order of the messages of a transaction that waited', async () => {
    const instance = await openWithTables(accounts);
    const session = await prepared(instance, xid, pay(1, 30));
    const other = instance.openSession();
    other.enqueue('shipments', { payload: 'a' });
    other.execute(...pay(1, 1));
    const waits = other.commit();
    expect(await isWaiting(instance, waits)).toBe(true);
    await put(instance, 'shipments', 'b');
    await xaOf(session).rollback(xid);
    await waits;
    expect(await takeAll(instance, 'shipments')).toEqual(['a', 'b']);
  });
});

describe('a row or table that a branch in doubt has locked', () => {
  const shared = shareInstance({ sqlLockMsMax: 20 });

  it.each<[string, string, string]>([
    ['an update that violates a constraint', 'UPDATE account SET balance = -1 WHERE id = 1', "owner = 'bob'"],
    ['an update of the same row', 'UPDATE account SET balance = 1 WHERE id = 1', "owner = 'bob'"],
    ['a deletion of the row', 'DELETE FROM account WHERE id = 1', 'id = 2'],
    ['a deletion of all rows', 'DELETE FROM account', 'id = 2'],
    ['a replacement', "REPLACE INTO account VALUES (1, 'x', 0)", 'id = 2'],
    ['an update or replacement', 'UPDATE OR REPLACE account SET id = 1 WHERE id = 2', 'id = 2'],
    [
      'an upsert',
      "INSERT INTO account VALUES (1, 'x', 0) ON CONFLICT (id) DO UPDATE SET balance = 0",
      'id = 2',
    ],
    ['a row with the key of a new row', "INSERT INTO account VALUES (7, 'x', 0)", 'id = 2'],
    ['a row with the unique value of a new row', "INSERT INTO account VALUES (8, 'new', 0)", 'id = 2'],
    ['a row with a unique value that it frees', "UPDATE account SET owner = 'ann' WHERE id = 2", 'id = 2'],
    ['a row with the key of a row that it deletes', "INSERT INTO account VALUES (3, 'x', 0)", 'id = 2'],
    ['an added column', 'ALTER TABLE account ADD COLUMN city', 'id = 2'],
    ['another table', 'CREATE TABLE other (x)', 'id = 2'],
    ['a dropped table', 'DROP TABLE account', 'id = 2'],
  ])('makes a transaction wait for %s', async (_what, statement, others) => {
    const instance = shared.current;
    await run(instance, 'DROP TABLE IF EXISTS account', 'DROP TABLE IF EXISTS other', ...accounts);
    const session = await prepared(
      instance,
      xid,
      "UPDATE account SET owner = 'anna', balance = balance - 1 WHERE id = 1",
      "INSERT INTO account VALUES (7, 'new', 5)",
      'DELETE FROM account WHERE id = 3',
    );
    await expect(run(instance, statement)).rejects.toEqual(code('SQL_LOCK_TIMEOUT'));
    await run(instance, `UPDATE account SET balance = balance + 1 WHERE ${others}`);
    await xaOf(session).commit(xid);
    const found = await rows(instance, 'SELECT id, owner, balance FROM account WHERE id IN (1, 7)');
    expect(found).toEqual([
      { id: 1, owner: 'anna', balance: 99 },
      { id: 7, owner: 'new', balance: 5 },
    ]);
    const after = await run(instance, statement).catch((error: Error) => error);
    expect(after).not.toEqual(code('SQL_LOCK_TIMEOUT'));
  });
});

describe('a branch that waits for another', () => {
  it('is prepared when the other branch ends', async () => {
    const instance = await openWithTables(accounts);
    const first = await prepared(instance, xidOf('a'), pay(1, 30));
    const second = await branchWith(instance, xidOf('b'), pay(1, 5));
    const prepare = xaOf(second).prepare(xidOf('b'));
    expect(await isWaiting(instance, prepare)).toBe(true);
    await xaOf(first).commit(xidOf('a'));
    expect(await prepare).toBe('ok');
    await xaOf(second).commit(xidOf('b'));
    expect((await rows(instance, balances))[0]).toEqual({ id: 1, balance: 65 });
  });

  it('is rolled back with XA_RBTIMEOUT after a while if the other transaction is earlier', async () => {
    const instance = await openWithTables(accounts, { sqlLockMsMax: 20 });
    await prepared(instance, xidOf('a'), pay(1, 30));
    const later = await branchWith(instance, xidOf('b'), pay(2, 1), pay(1, 5));
    await expect(xaOf(later).prepare(xidOf('b'))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await run(instance, pay(2, 1)); // The rolled back branch has locked no row.
  });

  it('is rolled back with XA_RBDEADLOCK if the two wait for each other on two instances', async () => {
    const [one, two] = [await openWithTables(accounts), await openWithTables(accounts)];
    await prepared(one, xidOf('a'), pay(1, 30));
    await prepared(two, xidOf('b'), pay(1, 30));
    const a = await branchWith(two, xidOf('a', 'two'), pay(1, 1));
    const b = await branchWith(one, xidOf('b', 'one'), pay(1, 1));
    const waits = xaOf(b).prepare(xidOf('b', 'one'));
    await expect(xaOf(a).prepare(xidOf('a', 'two'))).rejects.toEqual(code('XA_RBDEADLOCK'));
    await one.xa.rollback(xidOf('a')); // Its transaction manager rolls back the whole transaction.
    expect(await waits).toBe('ok');
  });
});
