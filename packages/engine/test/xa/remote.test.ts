/** Branches of clients in other processes: over sockets, with lost connections, and on instances of several processes. */
import { describe, expect, it } from 'vitest';
import { connect, type Instance, type RemoteInstance, serveInstance } from '../../src/index.ts';
import { makeFolder, openTestClient, openTestInstance } from '../folder.ts';
import { isWaiting, rows, run } from './rows-support.ts';
import { code, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

async function openServed(): Promise<{ instance: Instance; client: RemoteInstance }> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'orders' });
  await instance.createQueue({ name: 'shipments' });
  return { instance, client: await openTestClient(instance) };
}

const xid = xidOf('transfer 1');

describe('a remote session', () => {
  it('works in a branch, which any other client ends', async () => {
    const { instance, client } = await openServed();
    await put(instance, 'orders', 'o1');
    const session = client.openSession();
    await xaOf(session).start(xid);
    expect(await session.dequeue('orders')).toHaveLength(1);
    session.enqueue('shipments', { payload: 's1' });
    await expect(session.commit()).rejects.toEqual(code('XAER_PROTO'));
    await expect(session.rollback()).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).end(xid);
    expect(await xaOf(session).prepare(xid)).toBe('ok');
    session.enqueue('orders', { payload: 'local' }); // This is local work of the session again.
    await session.commit();
    expect((await client.xa.recover()).map(({ gtrid }) => Buffer.from(gtrid).toString())).toEqual([
      'transfer 1',
    ]);
    await instance.xa.commit(xid);
    await expect(client.xa.commit(xid)).rejects.toEqual(code('XAER_NOTA'));
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
    expect(await takeAll(instance, 'orders')).toEqual(['local']);
  });

  it('changes rows in a branch, and waits for rows that another branch has locked', async () => {
    const { instance, client } = await openServed();
    await run(
      instance,
      'CREATE TABLE stock (item TEXT PRIMARY KEY, count)',
      "INSERT INTO stock VALUES ('a', 5)",
    );
    const session = client.openSession();
    await xaOf(session).start(xid);
    session.execute("UPDATE stock SET count = 4 WHERE item = 'a'");
    await xaOf(session).end(xid);
    expect(await xaOf(session).prepare(xid)).toBe('ok');
    const waits = run(client, "UPDATE stock SET count = count - 1 WHERE item = 'a'");
    expect(await isWaiting(instance, waits)).toBe(true);
    await client.xa.commit(xid);
    await waits;
    expect(await rows(instance, 'SELECT * FROM stock')).toEqual([{ item: 'a', count: 3 }]);
  });

  it('suspends, resumes, joins and fails branches and commits in one phase like an embedded session', async () => {
    const { instance, client } = await openServed();
    const [session, other] = [client.openSession(), client.openSession()];
    await xaOf(session).start(xid);
    session.enqueue('shipments', { payload: 's1' });
    await xaOf(session).end(xid, 'suspend');
    await expect(xaOf(other).start(xid, { flag: 'resume' })).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).start(xid, { flag: 'resume' });
    await xaOf(session).end(xid);
    await xaOf(other).start(xid, { flag: 'join' });
    other.enqueue('shipments', { payload: 's2' });
    await expect(xaOf(other).start(xidOf('another'))).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(other).end(xid);
    await client.xa.commit(xid, { onePhase: true });
    expect(await takeAll(instance, 'shipments')).toEqual(['s1', 's2']);
    await xaOf(session).start(xid);
    session.enqueue('shipments', { payload: 's3' });
    await xaOf(session).end(xid, 'fail');
    await expect(client.xa.prepare(xid)).rejects.toEqual(code('XA_RBROLLBACK'));
  });

  it('cannot start a branch while it has local work, and gets the errors of a branch’s work at its end', async () => {
    const { instance, client } = await openServed();
    const session = client.openSession();
    session.enqueue('shipments', { payload: 'local' });
    await expect(xaOf(session).start(xid)).rejects.toEqual(code('XAER_OUTSIDE'));
    await session.rollback();
    await xaOf(session).start(xid);
    session.enqueue('nowhere', { payload: 's1' });
    await expect(xaOf(session).end(xid)).rejects.toEqual(code('QUEUE_NOT_FOUND'));
    await expect(client.xa.prepare(xid)).rejects.toEqual(code('XA_RBROLLBACK'));
    session.enqueue('shipments', { payload: 'local' });
    await session.commit();
    expect(await takeAll(instance, 'shipments')).toEqual(['local']);
  });

  it('stays in its branch when it ends a suspended one or names an unknown one', async () => {
    const { instance, client } = await openServed();
    const session = client.openSession();
    await xaOf(session).start(xidOf('suspended'));
    await xaOf(session).end(xidOf('suspended'), 'suspend');
    await xaOf(session).start(xid);
    session.enqueue('shipments', { payload: 's1' });
    await xaOf(session).end(xidOf('suspended'));
    await expect(xaOf(session).end(xidOf('unknown'))).rejects.toEqual(code('XAER_NOTA'));
    await expect(session.commit()).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).end(xid);
    await client.xa.commit(xid, { onePhase: true });
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
  });

  it('gets the errors of its work at a flush, and has then left the branch', async () => {
    const { instance, client } = await openServed();
    const session = client.openSession();
    await xaOf(session).start(xid);
    session.enqueue('shipments', { payload: 's1' });
    await xaOf(session).flush(xid);
    await expect(xaOf(session).flush(xidOf('another'))).rejects.toEqual(code('XAER_NOTA'));
    session.enqueue('nowhere', { payload: 's2' });
    await expect(xaOf(session).flush(xid)).rejects.toEqual(code('QUEUE_NOT_FOUND'));
    await expect(client.xa.prepare(xid)).rejects.toEqual(code('XA_RBROLLBACK'));
    session.enqueue('shipments', { payload: 'local' });
    await session.commit();
    expect(await takeAll(instance, 'shipments')).toEqual(['local']);
  });

  it('loses an active branch with its connection, and keeps one that has ended', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    await instance.createQueue({ name: 'shipments' });
    await put(instance, 'orders', 'o1');
    const served = await serveInstance(instance);
    const client = await connect({ path: served.path });
    const [active, ended] = [client.openSession(), client.openSession()];
    await xaOf(ended).start(xidOf('ended'));
    ended.enqueue('shipments', { payload: 's1' });
    await xaOf(ended).end(xidOf('ended'));
    await xaOf(active).start(xid);
    await active.dequeue('orders');
    active.enqueue('shipments', { payload: 's2' });
    await served.close();
    const again = await serveInstance(instance);
    const isBack = () => client.stats().then(Boolean, () => false);
    await expect.poll(isBack).toBe(true);
    await expect(xaOf(active).end(xid)).rejects.toEqual(code('XA_RBCOMMFAIL'));
    await expect(client.xa.prepare(xid)).rejects.toEqual(code('XAER_NOTA'));
    expect(await client.xa.prepare(xidOf('ended'))).toBe('ok');
    await client.xa.commit(xidOf('ended'));
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
    await client.close();
    await again.close();
  });

  it('gets XAER_RMFAIL if the instance is not served', async () => {
    const instance = await openTestInstance();
    const served = await serveInstance(instance);
    const client = await connect({ path: served.path, connectMs: 50 });
    await served.close();
    await expect(client.xa.prepare(xid)).rejects.toEqual(code('XAER_RMFAIL'));
    await expect(xaOf(client.openSession()).start(xid)).rejects.toEqual(code('XAER_RMFAIL'));
    await client.close();
  });
});

describe('a coordinator', () => {
  it('moves rows and messages between two folders over clients, and changes nothing if one instance refuses', async () => {
    const [one, two] = [await openServed(), await openServed()];
    for (const { instance } of [one, two]) {
      await run(instance, 'CREATE TABLE account (id INTEGER PRIMARY KEY, balance CHECK (balance >= 0))');
      await run(instance, 'INSERT INTO account VALUES (1, 10)');
    }
    const coordinator = one.instance.coordinator({ one: one.client.xa, two: two.client.xa });
    const move = async (amount: number) => {
      const transaction = coordinator.begin();
      const [payer, payee] = [one.client.openSession(), two.client.openSession()];
      await transaction.enlist('one', payer);
      await transaction.enlist('two', payee);
      payer.execute('UPDATE account SET balance = balance - ?', [amount]);
      payer.enqueue('shipments', { payload: `paid ${amount}` });
      payee.execute('UPDATE account SET balance = balance + ?', [amount]);
      payee.enqueue('shipments', { payload: `got ${amount}` });
      await transaction.commit();
    };
    await move(4);
    await expect(move(7)).rejects.toEqual(code('XA_RBINTEGRITY'));
    await move(6);
    expect(await rows(one.instance, 'SELECT balance FROM account')).toEqual([{ balance: 0 }]);
    expect(await rows(two.instance, 'SELECT balance FROM account')).toEqual([{ balance: 20 }]);
    expect(await takeAll(one.instance, 'shipments')).toEqual(['paid 4', 'paid 6']);
    expect(await takeAll(two.instance, 'shipments')).toEqual(['got 4', 'got 6']);
    coordinator.close();
  });

  it('commits over clients of two instances', async () => {
    const dir = makeFolder();
    const one = await openTestInstance({ dir });
    await one.createQueue({ name: 'orders' });
    await one.createQueue({ name: 'shipments' });
    const two = await openTestInstance({ dir, instance: 2 });
    await put(one, 'orders', 'o1');
    const clients = [await openTestClient(one), await openTestClient(two)] as const;
    const transaction = one.coordinator({ one: clients[0].xa, two: clients[1].xa }).begin();
    const [consumer, producer] = [clients[0].openSession(), clients[1].openSession()];
    await transaction.enlist('one', consumer);
    await transaction.enlist('two', producer);
    await consumer.dequeue('orders');
    producer.enqueue('shipments', { payload: 's1' });
    await transaction.commit();
    expect(await takeAll(two, 'shipments')).toEqual(['s1']);
    expect(await takeAll(one, 'orders')).toEqual([]);
  });
});
