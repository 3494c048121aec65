/** Branches of distributed transactions on one instance, over real files and restarts. */
import { describe, expect, it } from 'vitest';
import { type Instance, type InstanceOptions, openInstance, xaCodes } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { code, endedBranch, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

async function openWithQueues(options: Partial<InstanceOptions> = {}): Promise<Instance> {
  const instance = await openTestInstance(options);
  await instance.createQueue({ name: 'orders' });
  await instance.createQueue({ name: 'shipments' });
  return instance;
}

const xid = xidOf('transfer 1');

describe('two phases', () => {
  it('show no effect of a prepared branch, and all of them once it is committed', async () => {
    const instance = await openWithQueues();
    await put(instance, 'orders', 'o1', 'o2');
    const session = await endedBranch(instance, xid, 's1', 's2', 's3');
    expect(await xaOf(session).prepare(xid)).toBe('ok');
    expect(await takeAll(instance, 'orders')).toEqual([]);
    expect(await takeAll(instance, 'shipments')).toEqual([]);
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 2 });
    await xaOf(session).commit(xid);
    expect(await takeAll(instance, 'orders')).toEqual([]);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1', 's2', 's3']);
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 0, consumed: 2 });
    expect(await xaOf(session).recover()).toEqual([]);
  });

  it('return all messages at a rollback, to be delivered again', async () => {
    const instance = await openWithQueues();
    await put(instance, 'orders', 'o1', 'o2');
    const session = await endedBranch(instance, xid, 's1');
    await xaOf(session).prepare(xid);
    await xaOf(session).rollback(xid);
    const messages = await session.dequeue('orders', { max: 10 });
    expect(text(messages)).toEqual(['o1', 'o2']);
    expect(messages.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 2]);
    expect(await takeAll(instance, 'shipments')).toEqual([]);
  });

  it('can be ended by a session that took no part', async () => {
    const instance = await openWithQueues();
    await endedBranch(instance, xid, 's1');
    const other = xaOf(instance.openSession());
    await other.prepare(xid);
    expect(await other.recover()).toEqual([
      { ...xid, gtrid: new Uint8Array(xid.gtrid), bqual: new Uint8Array(xid.bqual) },
    ]);
    await other.commit(xid);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
  });

  it('store delayed messages at the commit', async () => {
    const instance = await openWithQueues();
    const session = instance.openSession();
    await xaOf(session).start(xid);
    session.enqueue('shipments', { payload: 'later', delayMs: 60_000 });
    await xaOf(session).end(xid);
    await xaOf(session).prepare(xid);
    expect(instance.queue('shipments')).toMatchObject({ delayed: 0 });
    await xaOf(session).commit(xid);
    expect(instance.queue('shipments')).toMatchObject({ delayed: 1, ready: 0 });
  });

  it('end the hold of an acknowledged receipt at the prepare, before its time', async () => {
    const instance = await openWithQueues();
    await put(instance, 'orders', 'o1');
    const session = instance.openSession();
    const [message] = await session.receive('orders', { holdMs: 60_000 });
    await xaOf(session).start(xid);
    session.acknowledge('orders', [message!.receipt]);
    await xaOf(session).end(xid);
    await xaOf(session).prepare(xid);
    await expect(session.extend('orders', [message!.receipt], 10)).rejects.toEqual(code('RECEIPT_STALE'));
    await xaOf(session).rollback(xid);
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
  });

  it('do not keep the partition of a held message from being truncated', async () => {
    const instance = await openWithQueues({ partitionMessagesMax: 2 });
    await put(instance, 'orders', 'o1');
    const session = await endedBranch(instance, xid);
    await xaOf(session).prepare(xid);
    for (let round = 0; round < 4; round += 1) {
      await put(instance, 'orders', `x${round}`, `y${round}`);
      await takeAll(instance, 'orders');
    }
    await xaOf(session).rollback(xid);
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
  });
});

describe('a group', () => {
  it('can have prepares and commits with messages of the same partition', async () => {
    const dir = makeFolder();
    const instance = await openInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    const xids = ['p', 'q'].map((name) => xidOf(name));
    await put(instance, 'orders', 'o1', 'o2', 'o3', 'o4');
    const sessions = [instance.openSession(), instance.openSession(), instance.openSession()];
    for (const [index, session] of sessions.entries()) {
      if (index < 2) await xaOf(session).start(xids[index]!);
      await session.dequeue('orders');
      if (index < 2) await xaOf(session).end(xids[index]!);
    }
    const { groups } = instance.stats();
    await Promise.all([...xids.map((each) => instance.xa.prepare(each)), sessions[2]!.commit()]);
    expect(instance.stats().groups - groups).toBe(1);
    await instance.close();
    const reopened = await openTestInstance({ dir });
    expect(reopened.queue('orders')).toMatchObject({ ready: 1, held: 2 });
    await Promise.all([reopened.xa.commit(xids[0]!), reopened.xa.rollback(xids[1]!)]);
    expect(await takeAll(reopened, 'orders')).toEqual(['o2', 'o4']);
  });
});

describe('a branch in doubt', () => {
  async function reopenedInDoubt(): Promise<Instance> {
    const dir = makeFolder();
    const instance = await openInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    await instance.createQueue({ name: 'shipments' });
    await put(instance, 'orders', 'o1', 'o2', 'o3');
    const other = instance.openSession();
    expect(text(await other.dequeue('orders'))).toEqual(['o1']); // This message is not part of the branch.
    const session = await endedBranch(instance, xid, 's1', 's2');
    await xaOf(session).prepare(xid);
    await other.rollback();
    await instance.close();
    return openTestInstance({ dir });
  }

  it('is found after a restart, with its messages held and the others ready', async () => {
    const instance = await reopenedInDoubt();
    expect(instance.queue('orders')).toMatchObject({ ready: 1, held: 2 });
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
    expect(await takeAll(instance, 'shipments')).toEqual([]);
    const xa = xaOf(instance.openSession());
    const [found] = await xa.recover();
    expect(Buffer.from(found!.gtrid).toString()).toBe('transfer 1');
    await xa.commit(found!);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1', 's2']);
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 0 });
    await expect(xa.commit(found!)).rejects.toEqual(code('XAER_NOTA'));
  });

  it('can be rolled back after a restart, which returns its messages', async () => {
    const instance = await reopenedInDoubt();
    await xaOf(instance.openSession()).rollback(xid);
    expect(await takeAll(instance, 'orders')).toEqual(['o1', 'o2', 'o3']);
    expect(await takeAll(instance, 'shipments')).toEqual([]);
    const xa = xaOf(instance.openSession());
    await xa.start(xid); // The xid can be used again.
    await xa.end(xid);
    expect(await xa.prepare(xid)).toBe('read-only');
  });

  it('can be committed after one of its queues was dropped', async () => {
    const instance = await reopenedInDoubt();
    await instance.dropQueue('orders');
    await xaOf(instance.openSession()).commit(xid);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1', 's2']);
  });
});

describe('a read-only answer', () => {
  it('leaves no branch, and needs no write', async () => {
    const instance = await openWithQueues();
    const { groups } = instance.stats();
    const session = await endedBranch(instance, xid);
    expect(await xaOf(session).prepare(xid)).toBe('read-only');
    expect(instance.stats().groups).toBe(groups);
    await expect(xaOf(session).commit(xid)).rejects.toEqual(code('XAER_NOTA'));
  });

  it('is given by a branch whose work another branch of the transaction takes over: nine calls in all', async () => {
    const instance = await openWithQueues();
    await put(instance, 'orders', 'o1');
    const [first, second] = [xidOf('transfer 1', 'a'), xidOf('transfer 1', 'b')];
    const { commits } = instance.stats();
    let calls = 0;
    const call = async <T>(made: Promise<T>): Promise<T> => {
      calls += 1;
      return made;
    };
    const [one, two] = [instance.openSession(), instance.openSession()];
    await call(xaOf(one).start(first));
    await call(xaOf(two).start(second));
    await call(one.dequeue('orders'));
    two.enqueue('shipments', { payload: 's1' });
    calls += 1;
    await call(xaOf(one).end(first));
    await call(xaOf(two).end(second));
    expect(await call(xaOf(one).prepare(first))).toBe('read-only');
    expect(await call(xaOf(two).prepare(second))).toBe('ok');
    await call(xaOf(two).commit(second));
    expect(calls).toBe(9);
    expect(instance.stats().commits - commits).toBe(2); // Only the prepare and the commit of the second branch are commits.
    expect(instance.queue('orders')).toMatchObject({ held: 0, ready: 0 });
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
  });
});

describe('one phase', () => {
  it('can commit a change of the schema, which cannot be prepared', async () => {
    const instance = await openWithQueues();
    const session = instance.openSession();
    await xaOf(session).start(xid);
    session.execute('CREATE TABLE stock (item TEXT)');
    session.execute("INSERT INTO stock VALUES ('a')");
    await xaOf(session).end(xid);
    await xaOf(session).commit(xid, { onePhase: true });
    expect((await session.query('SELECT count(*) AS items FROM stock')).rows).toEqual([{ items: 1 }]);
  });

  it('is refused for a prepared branch, as are two phases for an unprepared one', async () => {
    const instance = await openWithQueues();
    const session = await endedBranch(instance, xid, 's1');
    await expect(xaOf(session).commit(xid)).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).prepare(xid);
    await expect(xaOf(session).commit(xid, { onePhase: true })).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).commit(xid);
  });
});

describe('what cannot be prepared', () => {
  it.each<[string, (instance: Instance) => Promise<ReturnType<Instance['openSession']>>]>([
    [
      'a change of the schema',
      async (instance) => {
        const session = instance.openSession();
        await xaOf(session).start(xid);
        session.enqueue('shipments', { payload: 's1' });
        session.execute('CREATE TABLE stock (item TEXT)');
        return session;
      },
    ],
    [
      'a streamed payload',
      async (instance) => {
        const session = instance.openSession();
        await xaOf(session).start(xid);
        await session.enqueueStream('shipments', {
          payload: (async function* () {
            yield Buffer.alloc(300 * 1024);
          })(),
        });
        return session;
      },
    ],
  ])('is rolled back with all of its branch: %s', async (_what, begin) => {
    const instance = await openWithQueues();
    const session = await begin(instance);
    await xaOf(session).end(xid);
    const refused = xaOf(session).prepare(xid);
    await expect(refused).rejects.toMatchObject({ code: 'XA_RBOTHER', details: { cause: 'XA_UNSUPPORTED' } });
    await expect(xaOf(session).rollback(xid)).rejects.toEqual(code('XAER_NOTA'));
    expect(await takeAll(instance, 'shipments')).toEqual([]);
  });

  it('is refused at once if it is work in another file', async () => {
    const instance = await openWithQueues();
    await instance.createQueue({ name: 'plain', kind: 'unsharded' });
    const session = instance.openSession();
    await xaOf(session).start(xid);
    expect(() => session.enqueue('plain', { payload: 'p' })).toThrow(code('XA_UNSUPPORTED'));
    session.enqueue('shipments', { payload: 's1' }); // The branch continues.
    await xaOf(session).end(xid);
    await xaOf(session).commit(xid, { onePhase: true });
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
  });
});

describe('an invalid call', () => {
  it('is refused with the code of the specification, and changes nothing', async () => {
    const instance = await openWithQueues();
    const [session, other] = [instance.openSession(), instance.openSession()];
    const xa = xaOf(session);
    for (const call of ['end', 'prepare', 'commit', 'rollback', 'forget'] as const)
      await expect(xa[call](xid), call).rejects.toEqual(code('XAER_NOTA'));
    await expect(xa.start({ ...xid, gtrid: Buffer.alloc(65) })).rejects.toEqual(code('XAER_INVAL'));
    await expect(xa.start({ ...xid, formatId: -1 })).rejects.toEqual(code('XAER_INVAL'));
    await expect(xa.start(xid, { timeoutMs: 0 })).rejects.toEqual(code('XAER_INVAL'));
    await expect(xa.start(xid, { flag: 'join' })).rejects.toEqual(code('XAER_NOTA'));
    session.enqueue('shipments', { payload: 'local' });
    await expect(xa.start(xid)).rejects.toEqual(code('XAER_OUTSIDE'));
    await session.rollback();
    await xa.start(xid);
    await expect(xa.start(xidOf('another'))).rejects.toEqual(code('XAER_PROTO'));
    await expect(xaOf(other).start(xid)).rejects.toEqual(code('XAER_DUPID'));
    await expect(xaOf(other).end(xid)).rejects.toEqual(code('XAER_PROTO'));
    await expect(xa.prepare(xid)).rejects.toEqual(code('XAER_PROTO'));
    await expect(xa.rollback(xid)).rejects.toEqual(code('XAER_PROTO'));
    await expect(xa.forget(xid)).rejects.toEqual(code('XAER_PROTO'));
    await expect(session.commit()).rejects.toEqual(code('XAER_PROTO'));
    await expect(session.rollback()).rejects.toEqual(code('XAER_PROTO'));
    session.enqueue('shipments', { payload: 's1' });
    await xa.end(xid);
    await expect(xa.end(xid)).rejects.toEqual(code('XAER_PROTO'));
    await xa.commit(xid, { onePhase: true });
    expect(await takeAll(instance, 'shipments')).toEqual(['s1']);
    expect(xaCodes.XAER_PROTO).toBe(-6);
  });

  it('about a branch on a closed instance is refused with XAER_RMFAIL', async () => {
    const instance = await openWithQueues();
    const session = await endedBranch(instance, xid, 's1');
    await instance.close();
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('SESSION_CLOSED'));
    await expect(instance.xa.prepare(xid)).rejects.toEqual(code('XAER_RMFAIL'));
    await expect(instance.xa.recover()).rejects.toEqual(code('XAER_RMFAIL'));
  });
});

describe('a session', () => {
  it('suspends a branch, which only that session may resume', async () => {
    const instance = await openWithQueues();
    const [session, other] = [instance.openSession(), instance.openSession()];
    const xa = xaOf(session);
    await xa.start(xid);
    session.enqueue('shipments', { payload: 's1' });
    await xa.end(xid, 'suspend');
    session.enqueue('shipments', { payload: 'local' });
    await session.commit();
    await expect(xaOf(other).start(xid, { flag: 'resume' })).rejects.toEqual(code('XAER_PROTO'));
    await expect(xaOf(other).start(xid, { flag: 'join' })).rejects.toEqual(code('XAER_PROTO'));
    await xa.start(xid, { flag: 'resume' });
    session.enqueue('shipments', { payload: 's2' });
    await xa.end(xid);
    expect(await takeAll(instance, 'shipments')).toEqual(['local']);
    await xa.prepare(xid);
    await xa.commit(xid);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1', 's2']);
  });

  it('joins a branch that another session has ended', async () => {
    const instance = await openWithQueues();
    const session = await endedBranch(instance, xid, 's1');
    await session.close();
    const other = instance.openSession();
    await xaOf(other).start(xid, { flag: 'join' });
    other.enqueue('shipments', { payload: 's2' });
    await xaOf(other).end(xid);
    await xaOf(other).prepare(xid);
    await xaOf(other).commit(xid);
    expect(await takeAll(instance, 'shipments')).toEqual(['s1', 's2']);
  });

  it('rolls back its active and suspended branches when it is closed, and not those that it has ended', async () => {
    const instance = await openWithQueues();
    await put(instance, 'orders', 'o1');
    const [ended, suspended, active] = ['ended', 'suspended', 'active'].map((name) => xidOf(name));
    const session = await endedBranch(instance, ended!, 's1');
    await xaOf(session).start(suspended!);
    await xaOf(session).end(suspended!, 'suspend');
    await xaOf(session).start(active!);
    await session.close();
    await expect(instance.xa.prepare(suspended!)).rejects.toEqual(code('XAER_NOTA'));
    await expect(instance.xa.prepare(active!)).rejects.toEqual(code('XAER_NOTA'));
    expect(await instance.xa.prepare(ended!)).toBe('ok');
    await instance.xa.rollback(ended!);
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
  });

  it('can end a branch as failed, which can then only be rolled back, and whose messages are ready at once', async () => {
    const instance = await openWithQueues();
    await put(instance, 'orders', 'o1');
    const session = instance.openSession();
    await xaOf(session).start(xid);
    await session.dequeue('orders');
    await xaOf(session).end(xid, 'fail');
    expect(await takeAll(instance, 'orders')).toEqual(['o1']);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XA_RBROLLBACK'));
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XAER_NOTA')); // The reason is reported once.
  });
});
