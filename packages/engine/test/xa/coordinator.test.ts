/** The coordinator over two instances of one folder, in one process. */
import { describe, expect, it } from 'vitest';
import { type Instance, openInstance, type Session } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { code, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

async function openTwo(): Promise<[Instance, Instance]> {
  const dir = makeFolder();
  const one = await openTestInstance({ dir });
  await one.createQueue({ name: 'orders' });
  await one.createQueue({ name: 'shipments' });
  const two = await openTestInstance({ dir, instance: 2 });
  return [one, two];
}

const coordinate = (one: Instance, two: Instance) => one.coordinator({ one: one.xa, two: two.xa });

/** Consumes an order on the first instance and enqueues a shipment on the second. */
async function moveOrder(one: Instance, two: Instance, coordinator = coordinate(one, two)) {
  const transaction = coordinator.begin();
  const [consumer, producer] = [one.openSession(), two.openSession()];
  await transaction.enlist('one', consumer);
  await transaction.enlist('two', producer);
  const [order] = await consumer.dequeue('orders');
  producer.enqueue('shipments', { payload: `shipment of ${order?.payload}` });
  return { transaction, consumer, producer, coordinator };
}

describe('a transaction on two instances', () => {
  it('commits on both, and leaves no branch and no decision', async () => {
    const [one, two] = await openTwo();
    await put(one, 'orders', 'o1');
    const { transaction, coordinator } = await moveOrder(one, two);
    await transaction.commit();
    expect(await takeAll(two, 'shipments')).toEqual(['shipment of o1']);
    expect(await takeAll(one, 'orders')).toEqual([]);
    expect([await one.xa.recover(), await two.xa.recover(), await coordinator.resolve()]).toEqual([
      [],
      [],
      [],
    ]);
  });

  it('rolls back on both if one cannot prepare', async () => {
    const [one, two] = await openTwo();
    await put(one, 'orders', 'o1');
    const { transaction, consumer } = await moveOrder(one, two);
    consumer.acknowledge('orders', ['1/1.1.1.1.AAAAAAAAAAAAAAAAAAAAAA']);
    await expect(transaction.commit()).rejects.toMatchObject({
      code: 'XA_RBOTHER',
      details: { cause: 'RECEIPT_STALE' },
    });
    expect(await takeAll(two, 'shipments')).toEqual([]);
    expect(await takeAll(one, 'orders')).toEqual(['o1']);
    expect([await one.xa.recover(), await two.xa.recover()]).toEqual([[], []]);
    await expect(transaction.commit()).rejects.toEqual(code('XAER_PROTO'));
  });

  it('can be rolled back during its work, after which its sessions can be used', async () => {
    const [one, two] = await openTwo();
    await put(one, 'orders', 'o1');
    const { transaction, consumer } = await moveOrder(one, two);
    await transaction.rollback();
    expect(await consumer.dequeue('orders')).toHaveLength(1);
    await consumer.commit();
    expect(await takeAll(two, 'shipments')).toEqual([]);
  });

  it('needs no group on an instance whose branch only read', async () => {
    const [one, two] = await openTwo();
    const { transaction } = await moveOrder(one, two); // The queue has no order.
    const before = one.stats().groups;
    await transaction.commit();
    expect(one.stats().groups).toBe(before);
    expect(await takeAll(two, 'shipments')).toEqual(['shipment of undefined']);
  });

  it('commits in one phase if it has one branch', async () => {
    const [one] = await openTwo();
    const transaction = one.coordinator({ one: one.xa }).begin();
    const session = one.openSession();
    await transaction.enlist('one', session);
    session.enqueue('shipments', { payload: 's1' });
    const { commits } = one.stats();
    await transaction.commit();
    expect(one.stats().commits).toBe(commits + 1);
  });

  it('is committed even if a participant fails before its commit, and there once it is reopened', async () => {
    const dir = makeFolder();
    const one = await openTestInstance({ dir });
    await one.createQueue({ name: 'orders' });
    await one.createQueue({ name: 'shipments' });
    const two = await openInstance({ dir, instance: 2 });
    await put(one, 'orders', 'o1');
    let current: Instance = two;
    const participant = {
      prepare: (xid: Parameters<Instance['xa']['prepare']>[0]) => current.xa.prepare(xid),
      commit: async (xid: Parameters<Instance['xa']['commit']>[0]) => {
        if (current === two) await two.close(); // The participant fails when it is to commit.
        return current.xa.commit(xid);
      },
      rollback: (xid: Parameters<Instance['xa']['rollback']>[0]) => current.xa.rollback(xid),
      recover: () => current.xa.recover(),
      forget: (xid: Parameters<Instance['xa']['forget']>[0]) => current.xa.forget(xid),
    };
    const coordinator = one.coordinator({ one: one.xa, two: participant });
    const { transaction } = await moveOrder(one, two, coordinator);
    await transaction.commit();
    coordinator.close();
    current = await openTestInstance({ dir, instance: 2 });
    expect(await takeAll(current, 'shipments')).toEqual([]);
    expect(await coordinator.resolve()).toMatchObject([{ participant: 'two', outcome: 'committed' }]);
    expect(await takeAll(current, 'shipments')).toEqual(['shipment of o1']);
  });
});

describe('two coordinators of one instance', () => {
  it('do not resolve each other’s transactions, and never use the same xid', async () => {
    const [one, two] = await openTwo();
    await put(one, 'orders', 'o1');
    let prepared: () => void = () => undefined;
    const isPrepared = new Promise<void>((resolve) => {
      prepared = resolve;
    });
    let proceed: () => void = () => undefined;
    const mayProceed = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const slow = {
      prepare: async (xid: Parameters<Instance['xa']['prepare']>[0]) => {
        const vote = await two.xa.prepare(xid);
        prepared();
        await mayProceed;
        return vote;
      },
      commit: two.xa.commit.bind(two.xa),
      rollback: two.xa.rollback.bind(two.xa),
      recover: two.xa.recover.bind(two.xa),
      forget: two.xa.forget.bind(two.xa),
    };
    const { transaction } = await moveOrder(one, two, one.coordinator({ one: one.xa, two: slow }));
    const committing = transaction.commit();
    await isPrepared;
    const other = coordinate(one, two);
    expect(await other.resolve()).toEqual([]);
    expect(Buffer.from(other.begin().gtrid)).not.toEqual(Buffer.from(transaction.gtrid));
    proceed();
    await committing;
    expect(await takeAll(two, 'shipments')).toEqual(['shipment of o1']);
  });
});

describe('a new coordinator', () => {
  /** Prepares two branches, and reopens the coordinator's instance before the decision. */
  async function inDoubt(): Promise<[Instance, Instance]> {
    const dir = makeFolder();
    const one = await openInstance({ dir });
    await one.createQueue({ name: 'orders' });
    await one.createQueue({ name: 'shipments' });
    const two = await openTestInstance({ dir, instance: 2 });
    await put(one, 'orders', 'o1');
    const { transaction } = await moveOrder(
      one,
      two,
      one.coordinator({ one: one.xa, two: { ...resourceOf(two), prepare: endless } }),
    );
    void transaction.commit().catch(() => undefined);
    await expect.poll(async () => (await one.xa.recover()).length + (await two.xa.recover()).length).toBe(2);
    await one.close();
    return [await openTestInstance({ dir }), two];

    /** Prepares the branch, but never answers. */
    async function endless(xid: Parameters<Instance['xa']['prepare']>[0]): Promise<never> {
      await two.xa.prepare(xid);
      return new Promise<never>(() => undefined);
    }
  }

  const resourceOf = (instance: Instance) => ({
    commit: instance.xa.commit.bind(instance.xa),
    rollback: instance.xa.rollback.bind(instance.xa),
    recover: instance.xa.recover.bind(instance.xa),
    forget: instance.xa.forget.bind(instance.xa),
  });

  it('rolls back branches without a decision: abort is presumed', async () => {
    const [one, two] = await inDoubt();
    const resolved = await coordinate(one, two).resolve();
    expect(resolved.map(({ participant, outcome }) => [participant, outcome]).sort()).toEqual([
      ['one', 'rolled back'],
      ['two', 'rolled back'],
    ]);
    expect(await takeAll(one, 'orders')).toEqual(['o1']);
    expect(await takeAll(two, 'shipments')).toEqual([]);
  });

  it('does not resolve branches of other transaction managers or of a coordinator on another instance', async () => {
    const [one, two] = await inDoubt();
    const session = two.openSession();
    await xaOf(session).start(xidOf('foreign'));
    session.enqueue('shipments', { payload: 'foreign' });
    await xaOf(session).end(xidOf('foreign'));
    await two.xa.prepare(xidOf('foreign'));
    expect(await two.coordinator({ one: one.xa, two: two.xa }).resolve()).toEqual([]);
    await coordinate(one, two).resolve();
    expect(await two.xa.recover()).toHaveLength(1);
    await two.xa.commit(xidOf('foreign'));
    expect(await takeAll(two, 'shipments')).toEqual(['foreign']);
  });
});

describe('a transaction of branches of one participant', () => {
  it('takes nine calls, as the second branch takes over the work of the first', async () => {
    const [one] = await openTwo();
    await put(one, 'orders', 'o1');
    const counted = countCalls(one);
    const transaction = one.coordinator({ one: counted.resource }).begin();
    const [a, b] = [counted.session(one.openSession()), counted.session(one.openSession())];
    await transaction.enlist('one', a);
    await transaction.enlist('one', b);
    await a.dequeue('orders');
    counted.add();
    b.enqueue('shipments', { payload: 's1' });
    counted.add();
    await transaction.commit();
    expect(counted.calls).toBe(9);
    expect(await takeAll(one, 'shipments')).toEqual(['s1']);
    expect(one.queue('orders')).toMatchObject({ held: 0, ready: 0 });
  });

  it('takes ten calls on two instances, each with work in its own file', async () => {
    const [one, two] = await openTwo();
    await put(one, 'orders', 'o1');
    const [first, second] = [countCalls(one), countCalls(two)];
    const transaction = one.coordinator({ one: first.resource, two: second.resource }).begin();
    const [a, b] = [first.session(one.openSession()), second.session(two.openSession())];
    await transaction.enlist('one', a);
    await transaction.enlist('two', b);
    await a.dequeue('orders');
    first.add();
    b.enqueue('shipments', { payload: 's1' });
    second.add();
    await transaction.commit();
    expect([first.calls, second.calls]).toEqual([5, 5]);
  });
});

/** Counts the calls that a client of the instance makes: its round trips. */
function countCalls(instance: Instance) {
  const counted = {
    calls: 0,
    add: () => {
      counted.calls += 1;
    },
    resource: counting(instance.xa),
    session: (session: Session): Session => {
      const xa = counting(xaOf(session));
      return new Proxy(session, {
        get(target, property) {
          if (property === 'xa') return xa;
          const value = Reflect.get(target, property, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
  function counting<T extends object>(target: T): T {
    return new Proxy(target, {
      get(of, property) {
        const value = Reflect.get(of, property, of);
        if (typeof value !== 'function') return value;
        return (...parameters: unknown[]) => {
          counted.add();
          return value.apply(of, parameters);
        };
      },
    });
  }
  return counted;
}
