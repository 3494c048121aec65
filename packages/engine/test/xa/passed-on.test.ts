/** Branches that are prepared, committed or rolled back by calls to another instance, which passes them on. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Instance, type Session, serveInstance, type Xid } from '../../src/index.ts';
import { xidKey } from '../../src/model/xid.ts';
import { makeFolder, openTestClient, openTestInstance } from '../folder.ts';
import { code, endedBranch, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

async function openTwo(options = {}) {
  const dir = makeFolder();
  const one = await openTestInstance({ dir, ...options });
  await one.createQueue({ name: 'orders', forwarding: false });
  await one.createQueue({ name: 'shipments', forwarding: false });
  const two = await openTestInstance({ dir, instance: 2, ...options });
  const clients = { one: await openTestClient(one), two: await openTestClient(two) };
  return { one, two, clients };
}

const a = xidOf('t', 'a');
const b = xidOf('t', 'b');
const atOne = { instance: 1 };
const inDoubt = async ({ xa }: Instance) => (await xa.recover()).map(xidKey);
const passedOn = ({ waits }: Instance) => waits.counters()['prepares passed on'];
const waitsOf = ({ waits }: Instance) =>
  waits.snapshot().find(({ event }) => event === 'passed-on call')!.waits;

describe('a branch of another instance', () => {
  it.each(['embedded', 'remote'] as const)(
    'is prepared and committed by %s sessions, without any write on the called instance',
    async (kind) => {
      const { one, two, clients } = await openTwo();
      await put(one, 'orders', 'o1');
      await endedBranch(one, a, 's1');
      const session = kind === 'embedded' ? two.openSession() : clients.two.openSession();
      const { groups } = two.stats();
      expect(await xaOf(session).prepare(a, atOne)).toBe('ok');
      expect([await inDoubt(one), await inDoubt(two)]).toEqual([[xidKey(a)], []]);
      await xaOf(session).commit(a, atOne);
      expect(session.roundTrips).toBe(2);
      expect(two.stats().groups).toBe(groups);
      expect(await takeAll(one, 'orders')).toEqual([]);
      expect(await takeAll(one, 'shipments')).toEqual(['s1']);
      expect([passedOn(one), passedOn(two)]).toEqual([0, 1]);
      expect(waitsOf(two)).toBe(2);
    },
  );

  it('can be committed in one phase, and rolled back whether or not it is prepared', async () => {
    const { one, two } = await openTwo();
    const session = two.openSession();
    await endedBranch(one, a, 's1');
    await xaOf(session).commit(a, { onePhase: true, ...atOne });
    await endedBranch(one, b, 's2');
    await xaOf(session).rollback(b, atOne);
    await endedBranch(one, xidOf('u'), 's3');
    await two.xa.prepare(xidOf('u'), atOne);
    await two.xa.rollback(xidOf('u'), atOne);
    expect(await takeAll(one, 'shipments')).toEqual(['s1']);
    expect(await one.xa.recover()).toEqual([]);
  });

  it('is not meant if the called instance itself is named: the call is not passed on', async () => {
    const { one } = await openTwo();
    await endedBranch(one, a, 's1');
    expect(await one.xa.prepare(a, atOne)).toBe('ok');
    await one.xa.commit(a, atOne);
    expect([passedOn(one), waitsOf(one)]).toEqual([0, 0]);
  });

  it('makes the call fail with the error that it answers', async () => {
    const { one, two } = await openTwo();
    await expect(two.xa.prepare(a, atOne)).rejects.toEqual(code('XAER_NOTA'));
    const session = one.openSession();
    await xaOf(session).start(a);
    await expect(two.xa.prepare(a, atOne)).rejects.toEqual(code('XAER_PROTO'));
    await expect(two.xa.commit(a, atOne)).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).end(a, 'fail');
    await expect(two.xa.prepare(a, atOne)).rejects.toEqual(code('XA_RBROLLBACK'));
    expect(passedOn(two)).toBe(0);
  });

  it('is unknown if the call does not name its instance', async () => {
    const { one, two } = await openTwo();
    await endedBranch(one, a, 's1');
    await expect(two.xa.prepare(a)).rejects.toEqual(code('XAER_NOTA'));
    await one.xa.rollback(a);
  });

  it.each([0, 65, 1.5, '1'])('on instance %s is refused', async (instance) => {
    const { two, clients } = await openTwo();
    const place = { instance } as { instance: number };
    await expect(two.xa.prepare(a, place)).rejects.toEqual(code('XAER_INVAL'));
    await expect(clients.two.xa.rollback(a, place)).rejects.toEqual(code('XAER_INVAL'));
  });
});

describe('a call is answered with XAER_RMFAIL', () => {
  it('if the instance of the branch is not served, and the branch stays in doubt', async () => {
    const dir = makeFolder();
    const openOne = async () => {
      const instance = await openTestInstance({ dir });
      const served = await serveInstance(instance);
      onTestFinished(() => served.close());
      return { instance, served };
    };
    const { instance: one, served } = await openOne();
    await one.createQueue({ name: 'orders', forwarding: false });
    await one.createQueue({ name: 'shipments', forwarding: false });
    const two = await openTestInstance({ dir, instance: 2 });
    await openTestClient(two);
    await endedBranch(one, a, 's1');
    await two.xa.prepare(a, atOne);
    await served.close();
    await one.close();
    await expect(two.xa.commit(a, atOne)).rejects.toEqual(code('XAER_RMFAIL'));
    const { instance: again } = await openOne();
    expect(await inDoubt(again)).toEqual([xidKey(a)]);
    await expect.poll(() => two.xa.commit(a, atOne).then(() => 'committed', String)).toBe('committed');
    expect(await takeAll(again, 'shipments')).toEqual(['s1']);
  });

  it('if the called instance itself is not served', async () => {
    const two = await openTestInstance({ instance: 2 });
    await expect(two.xa.prepare(a, atOne)).rejects.toEqual(code('XAER_RMFAIL'));
  });
});

/** Starts a tightly coupled branch that enqueues a shipment, and ends it. */
async function endedTight(session: Session, xid: Xid, payload: string): Promise<void> {
  await xaOf(session).start(xid, { coupling: 'tight', home: 1 });
  session.enqueue('shipments', { payload });
  await xaOf(session).flush(xid);
  await xaOf(session).end(xid);
}

describe('two tightly coupled branches, each prepared by a call to the instance of the other', () => {
  it('take nine round trips, and one prepare is read-only', async () => {
    const { one, two, clients } = await openTwo();
    const [first, second] = [clients.one.openSession(), clients.two.openSession()];
    await endedTight(first, a, 's1');
    await endedTight(second, b, 's2');
    const votes = await Promise.all([
      xaOf(first).prepare(b, { instance: 2 }),
      xaOf(second).prepare(a, { instance: 1 }),
    ]);
    expect(votes).toEqual(['read-only', 'ok']);
    await xaOf(second).commit(a, { instance: 1 });
    expect(first.roundTrips! + second.roundTrips!).toBe(9);
    expect([passedOn(one), passedOn(two)]).toEqual([1, 1]);
    expect(await takeAll(one, 'shipments')).toEqual(['s1', 's2']);
    expect([await one.xa.recover(), await two.xa.recover()]).toEqual([[], []]);
  });

  it('do not wait for the lock of an earlier transaction while their session keeps that of a later one', async () => {
    const { one, two } = await openTwo();
    const keeps = { coupling: 'tight', home: 1, lock: 'branch' } as const;
    const [early, late] = [xidOf('a early', 'x'), xidOf('b late')];
    await endedTight(two.openSession(), early, 's1');
    const holder = one.openSession();
    await xaOf(holder).start(xidOf('a early', 'holder'), keeps);
    const session = one.openSession();
    await xaOf(session).start(late, keeps);
    await xaOf(session).end(late, 'suspend');
    await expect(xaOf(session).prepare(early, { instance: 2 })).rejects.toEqual(code('XA_RBDEADLOCK'));
    await xaOf(holder).end(xidOf('a early', 'holder'), 'fail');
    await xaOf(session).end(late, 'fail');
  });
});
