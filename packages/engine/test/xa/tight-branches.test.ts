/** Tightly coupled branches on two served instances: which work is shipped, to where, and in how many round trips. */
import { describe, expect, it } from 'vitest';
import { text } from '../folder.ts';
import { code, put, takeAll, xaOf } from './support.ts';
import { a, b, openTwo, ship, tight } from './tight-support.ts';
import { xidOf } from './xid-of.ts';

describe('two tightly coupled branches on two instances', () => {
  it('take nine round trips: the second prepare is read-only, as its messages were shipped to the home instance', async () => {
    const { one, two, clients } = await openTwo();
    const [first, second] = [clients.one.openSession(), clients.two.openSession()];
    await xaOf(first).start(a, tight);
    await xaOf(second).start(b, tight);
    first.enqueue('shipments', { payload: 's1' });
    await xaOf(first).flush(a);
    second.enqueue('shipments', { payload: 's2' });
    await xaOf(second).flush(b);
    await xaOf(first).end(a);
    await xaOf(second).end(b);
    expect(await xaOf(first).prepare(a)).toBe('ok');
    const { groups } = two.stats();
    expect(await xaOf(second).prepare(b)).toBe('read-only');
    expect(two.stats().groups).toBe(groups); // The prepare wrote nothing.
    await xaOf(first).commit(a);
    expect(first.roundTrips! + second.roundTrips!).toBe(9);
    // Start, flush, end and prepare each need a round trip to the home instance.
    expect(two.waits.snapshot().find(({ event }) => event === 'global transaction lock')!.waits).toBe(4);
    expect(await takeAll(one, 'shipments')).toEqual(['s1', 's2']);
    expect(await takeAll(two, 'shipments')).toEqual([]);
    expect([await one.xa.recover(), await two.xa.recover()]).toEqual([[], []]);
  });

  it('take nine round trips in the other order of prepares too', async () => {
    const { one, clients } = await openTwo();
    const [first, second] = [clients.one.openSession(), clients.two.openSession()];
    await ship(first, a, 's1');
    await ship(second, b, 's2');
    expect(await xaOf(second).prepare(b)).toBe('read-only');
    expect(await xaOf(first).prepare(a)).toBe('ok');
    await xaOf(first).commit(a);
    expect(first.roundTrips! + second.roundTrips!).toBe(9);
    expect(await takeAll(one, 'shipments')).toEqual(['s1', 's2']);
  });

  it('take nine calls of embedded sessions too', async () => {
    const { one, two } = await openTwo();
    const [first, second] = [one.openSession(), two.openSession()];
    await ship(first, a, 's1');
    await ship(second, b, 's2');
    expect(await xaOf(first).prepare(a)).toBe('ok');
    expect(await xaOf(second).prepare(b)).toBe('read-only');
    await xaOf(first).commit(a);
    expect(first.roundTrips! + second.roundTrips!).toBe(9);
  });

  it.each([
    ['on two instances', 'two'],
    ['on one instance', 'one'],
  ] as const)(
    'take nine round trips too if they are %s and prepared at the same time',
    async (_, ofSecond) => {
      const opened = await openTwo();
      const [first, second] = [opened.one.openSession(), opened[ofSecond].openSession()];
      const rounds = 5;
      for (let each = 0; each < rounds; each += 1) {
        const [x, y] = [xidOf(`transfer ${each}`, 'a'), xidOf(`transfer ${each}`, 'b')];
        await ship(first, x, `first ${each}`);
        await ship(second, y, `second ${each}`);
        // The order of the prepares alternates: a first one at the home instance has the lock at once.
        const asked = each % 2 === 0 ? ([second, first] as const) : ([first, second] as const);
        const xids = each % 2 === 0 ? [y, x] : [x, y];
        const votes = await Promise.all(asked.map((session, index) => xaOf(session).prepare(xids[index]!)));
        expect(votes.toSorted()).toEqual(['ok', 'read-only']);
        const prepared = votes.indexOf('ok');
        await xaOf(asked[prepared]!).commit(xids[prepared]!);
      }
      expect(first.roundTrips! + second.roundTrips!).toBe(9 * rounds);
      expect(await takeAll(opened.one, 'shipments')).toHaveLength(2 * rounds);
    },
  );

  it('take ten round trips if the second one consumes messages of its own instance, and so ships nothing', async () => {
    const { one, two, clients } = await openTwo();
    await put(two, 'orders', 'o1');
    const [first, second] = [clients.one.openSession(), clients.two.openSession()];
    await ship(first, a, 's1');
    await xaOf(second).start(b, tight);
    expect(await second.dequeue('orders')).toHaveLength(1);
    second.enqueue('shipments', { payload: 's2' });
    await xaOf(second).end(b);
    expect([await xaOf(first).prepare(a), await xaOf(second).prepare(b)]).toEqual(['ok', 'ok']);
    await xaOf(first).commit(a);
    await xaOf(second).commit(b);
    expect(first.roundTrips! + second.roundTrips!).toBe(10);
    expect(await takeAll(one, 'shipments')).toEqual(['s1']);
    expect(await takeAll(two, 'shipments')).toEqual(['s2']);
    expect(await takeAll(two, 'orders')).toEqual([]);
  });

  it('of a coordinator have the instance of the first branch as their home instance', async () => {
    const { one, two, clients, coordinator } = await openTwo();
    const transaction = coordinator.begin({ coupling: 'tight' });
    const [first, second] = [clients.two.openSession(), clients.one.openSession()];
    await transaction.enlist('two', first);
    await transaction.enlist('one', second);
    expect([xaOf(first).home, xaOf(second).home]).toEqual([2, 2]);
    first.enqueue('shipments', { payload: 's1' });
    second.enqueue('shipments', { payload: 's2' });
    await transaction.commit();
    expect(await takeAll(two, 'shipments')).toEqual(['s1', 's2']);
    expect(await takeAll(one, 'shipments')).toEqual([]);
    expect([await one.xa.recover(), await two.xa.recover()]).toEqual([[], []]);
    expect(xaOf(first).home).toBeUndefined();
  });

  it('are rolled back together', async () => {
    const { one, two, coordinator } = await openTwo();
    const transaction = coordinator.begin({ coupling: 'tight' });
    const [first, second] = [one.openSession(), two.openSession()];
    await transaction.enlist('one', first);
    await transaction.enlist('two', second);
    first.enqueue('shipments', { payload: 's1' });
    second.enqueue('shipments', { payload: 's2' });
    await transaction.rollback();
    expect([...(await takeAll(one, 'shipments')), ...(await takeAll(two, 'shipments'))]).toEqual([]);
  });

  it('keep priorities, group keys and the order of a session’s shipped messages', async () => {
    const { one, two } = await openTwo();
    await one.createQueue({ name: 'urgent', priorities: true, forwarding: false });
    const [first, second] = [one.openSession(), two.openSession()];
    for (const [index, name] of ['t1', 't2', 't3'].entries()) {
      const [own, shipped] = [xidOf(name, 'a'), xidOf(name, 'b')];
      await ship(first, own, `own ${name}`);
      await xaOf(second).start(shipped, tight);
      second.enqueue('urgent', { payload: name, priority: index + 1, groupKey: name });
      second.enqueue('shipments', { payload: `shipped ${name}` });
      await xaOf(second).end(shipped);
      expect([await one.xa.prepare(own), await two.xa.prepare(shipped)]).toEqual(['ok', 'read-only']);
      await one.xa.commit(own);
    }
    const consumer = one.openSession();
    const urgent = await consumer.dequeue('urgent', { max: 10 });
    expect(urgent.map(({ priority, groupKey }) => [priority, groupKey])).toEqual([
      [3, 't3'],
      [2, 't2'],
      [1, 't1'],
    ]);
    const shipments = text(await consumer.dequeue('shipments', { max: 10 }));
    expect(shipments.filter((payload) => payload.startsWith('shipped'))).toEqual([
      'shipped t1',
      'shipped t2',
      'shipped t3',
    ]);
  });
});

describe('shipped work', () => {
  it('is returned to its own branch, which then prepares it, if the home instance has no branch', async () => {
    const { one, two } = await openTwo();
    const session = two.openSession();
    await ship(session, b, 's2');
    expect(await xaOf(session).prepare(b)).toBe('ok');
    await xaOf(session).commit(b);
    expect(await takeAll(two, 'shipments')).toEqual(['s2']);
    expect(await takeAll(one, 'shipments')).toEqual([]);
  });

  it('stays with its own branch once that of the home instance is prepared', async () => {
    const { one, two } = await openTwo();
    await ship(one.openSession(), a, 's1');
    expect(await one.xa.prepare(a)).toBe('ok');
    await ship(two.openSession(), b, 's2');
    expect(await two.xa.prepare(b)).toBe('ok');
    await one.xa.rollback(a);
    await two.xa.commit(b);
    expect(await takeAll(two, 'shipments')).toEqual(['s2']);
    expect(await takeAll(one, 'shipments')).toEqual([]);
  });

  it('is returned when its branch is joined, and shipped again with the rest', async () => {
    const { one, two } = await openTwo();
    await ship(one.openSession(), a, 's1');
    await ship(two.openSession(), b, 's2');
    const other = two.openSession();
    await xaOf(other).start(b, { flag: 'join' });
    other.enqueue('shipments', { payload: 's3' });
    await xaOf(other).end(b);
    expect([await one.xa.prepare(a), await two.xa.prepare(b)]).toEqual(['ok', 'read-only']);
    await one.xa.commit(a);
    expect(await takeAll(one, 'shipments')).toEqual(['s1', 's2', 's3']);
  });

  it('cannot be returned once a prepared branch has it', async () => {
    const { one, two } = await openTwo();
    await ship(one.openSession(), a, 's1');
    await ship(two.openSession(), b, 's2');
    await one.xa.prepare(a);
    await expect(xaOf(two.openSession()).start(b, { flag: 'join' })).rejects.toEqual(code('XAER_PROTO'));
    expect(await two.xa.prepare(b)).toBe('read-only'); // The refused join has changed nothing.
    await one.xa.commit(a);
    expect(await takeAll(one, 'shipments')).toEqual(['s1', 's2']);
  });

  it('is committed with its own branch in one phase if that is the only branch', async () => {
    const { one, two } = await openTwo();
    await ship(two.openSession(), b, 's2');
    await two.xa.commit(b, { onePhase: true });
    expect(await takeAll(two, 'shipments')).toEqual(['s2']);
    await ship(one.openSession(), a, 's1'); // The same transaction is used again, as nothing is left of the shipped copy.
    await one.xa.commit(a, { onePhase: true });
    expect(await takeAll(one, 'shipments')).toEqual(['s1']);
  });

  it('is in the prepared row of the home instance over a restart', async () => {
    const { one, two, restartOne } = await openTwo();
    await ship(one.openSession(), a, 's1');
    await ship(two.openSession(), b, 's2');
    await one.xa.prepare(a);
    const again = await restartOne();
    expect(await two.xa.prepare(b)).toBe('read-only');
    await again.xa.commit(a);
    expect(await takeAll(again, 'shipments')).toEqual(['s1', 's2']);
  });

  it('that the home instance has lost is rolled back, even if its branch still asks for it', async () => {
    const { two, restartOne } = await openTwo();
    await ship(two.openSession(), b, 's2');
    const again = await restartOne();
    await ship(again.openSession(), a, 's1');
    await expect(two.xa.prepare(b)).rejects.toEqual(code('XA_RBCOMMFAIL'));
    await expect(two.xa.prepare(b)).rejects.toEqual(code('XAER_NOTA'));
    await again.xa.rollback(a);
    expect([...(await takeAll(again, 'shipments')), ...(await takeAll(two, 'shipments'))]).toEqual([]);
  });

  it('is kept on its own instance if it is large, delayed or acknowledges a receipt', async () => {
    const { one, two } = await openTwo();
    await put(two, 'orders', 'o1');
    const session = two.openSession();
    const [order] = await session.receive('orders', { holdMs: 60_000 });
    const kinds = {
      large: () => session.enqueue('shipments', { payload: Buffer.alloc(900_000) }),
      delayed: () => session.enqueue('shipments', { payload: 'later', delayMs: 60_000 }),
      acknowledged: () => session.acknowledge('orders', [order!.receipt]),
    };
    for (const [name, work] of Object.entries(kinds)) {
      const [own, other] = [xidOf(name, 'a'), xidOf(name, 'b')];
      await ship(one.openSession(), own, 's1');
      await xaOf(session).start(other, tight);
      work();
      await xaOf(session).end(other);
      expect([name, await one.xa.prepare(own), await two.xa.prepare(other)]).toEqual([name, 'ok', 'ok']);
      await Promise.all([one.xa.rollback(own), two.xa.rollback(other)]);
    }
  });
});
