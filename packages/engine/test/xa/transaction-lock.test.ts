/** The lock of a tightly coupled transaction at its home instance, with simulated time and interconnect. */
import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/api/session.ts';
import { drainPromises } from '../simulator/scheduler.ts';
import type { SimulatedInstance } from '../simulator/simulated-instance.ts';
import { code, xaOf } from './support.ts';
import { openTwoSimulated, type TwoSimulated } from './two-simulated.ts';
import { xidOf } from './xid-of.ts';

const tight = { coupling: 'tight', home: 1 } as const;
const a = xidOf('t1', 'a');
const b = xidOf('t1', 'b');

const lockWaits = ({ opening }: SimulatedInstance) =>
  opening!.waits.snapshot().find(({ event }) => event === 'global transaction lock')!;

/** Opens a session that waits for a message in a branch, and so holds the lock of its transaction. */
async function openWaitingInBranch(
  simulated: TwoSimulated,
  waitMs: number,
): Promise<{ session: Session; dequeue: Promise<unknown> }> {
  const session = simulated.home.openSession();
  await simulated.finish(xaOf(session).start(a, tight));
  const dequeue = session.dequeue('orders', { waitMs });
  await drainPromises();
  return { session, dequeue };
}

describe('the lock of a tightly coupled transaction', () => {
  it('lets one branch at a time have a call under way, over all instances', async () => {
    const simulated = openTwoSimulated();
    const { other, advance, finish } = simulated;
    const session = other.openSession();
    await finish(xaOf(session).start(b, tight));
    const { dequeue } = await openWaitingInBranch(simulated, 2_000);
    let hasEnded = false;
    const end = xaOf(session)
      .end(b)
      .then(() => {
        hasEnded = true;
      });
    await advance(1_900);
    expect(hasEnded).toBe(false);
    await advance(500);
    await dequeue;
    await end;
    expect(lockWaits(other).waits).toBe(2); // The start and the end each waited.
    expect(lockWaits(other).totalMs).toBeGreaterThan(1_900);
    expect(lockWaits(simulated.home).waits).toBe(0); // The lock was free at once.
  });

  it('is not waited for longer than `lockWaitMs`: the branch gets XA_RBTIMEOUT and can only be rolled back', async () => {
    const simulated = openTwoSimulated();
    const { other, finish, advance } = simulated;
    const session = other.openSession();
    await finish(xaOf(session).start(b, { ...tight, lockWaitMs: 100 }));
    session.enqueue('orders', { payload: 'o1' });
    const { dequeue } = await openWaitingInBranch(simulated, 5_000);
    await expect(finish(session.dequeue('orders'))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(finish(xaOf(session).end(b))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(finish(xaOf(session).prepare(b))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(finish(xaOf(session).prepare(b))).rejects.toEqual(code('XAER_NOTA'));
    await advance(5_000);
    await dequeue;
  });

  it('makes a start that waits too long fail, and no branch is left', async () => {
    const simulated = openTwoSimulated();
    const { other, home, finish, advance } = simulated;
    const { dequeue } = await openWaitingInBranch(simulated, 5_000);
    for (const session of [other.openSession(), home.openSession()]) {
      const start = xaOf(session).start(b, { ...tight, lockWaitMs: 100 });
      await expect(finish(start)).rejects.toEqual(code('XA_RBTIMEOUT'));
      await expect(finish(xaOf(session).end(b))).rejects.toEqual(code('XAER_NOTA'));
      session.enqueue('alerts', { payload: 'local' }); // This is local work of the session again.
      await finish(session.commit());
    }
    await advance(5_000);
    await dequeue;
  });

  it('makes a flush that waits too long roll the branch back, after which the session can be used', async () => {
    const simulated = openTwoSimulated();
    const { other, finish, advance } = simulated;
    const session = other.openSession();
    await finish(xaOf(session).start(b, { ...tight, lockWaitMs: 100 }));
    session.enqueue('orders', { payload: 'o1' });
    const { dequeue } = await openWaitingInBranch(simulated, 5_000);
    await expect(finish(xaOf(session).flush(b))).rejects.toEqual(code('XA_RBTIMEOUT'));
    session.enqueue('alerts', { payload: 'local' });
    await finish(session.commit());
    await expect(finish(xaOf(session).prepare(b))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await advance(5_000);
    await dequeue;
  });

  it('makes an end and a prepare that wait too long roll the branch back', async () => {
    const simulated = openTwoSimulated();
    const { other, finish, advance } = simulated;
    const c = xidOf('t1', 'c');
    const [ending, ended] = [other.openSession(), other.openSession()];
    await finish(xaOf(ending).start(b, { ...tight, lockWaitMs: 100 }));
    await finish(xaOf(ended).start(c, { ...tight, lockWaitMs: 100 }));
    ended.enqueue('orders', { payload: 'o1' });
    await finish(xaOf(ended).end(c));
    const { dequeue } = await openWaitingInBranch(simulated, 5_000);
    await expect(finish(xaOf(ending).end(b))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(finish(xaOf(ended).prepare(c))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(finish(xaOf(ending).rollback(b))).resolves.toBeUndefined();
    await expect(finish(xaOf(ended).rollback(c))).rejects.toEqual(code('XAER_NOTA'));
    await advance(5_000);
    await dequeue;
  });

  it('is released when the instance of its holder, or the connection to that, is lost', async () => {
    for (const lose of ['instance', 'connection'] as const) {
      const { home, other, network, finish, advance } = openTwoSimulated();
      const holder = other.openSession();
      await finish(xaOf(holder).start(b, { ...tight, lock: 'branch' }));
      const session = home.openSession();
      const start = finish(xaOf(session).start(a, { ...tight, lockWaitMs: 10_000 }));
      if (lose === 'instance') other.kill();
      else network.cutAll(0);
      await start;
      await finish(xaOf(session).end(a));
      if (lose === 'connection') {
        await expect(finish(xaOf(holder).end(b))).rejects.toEqual(code('XA_RBCOMMFAIL'));
        await expect(finish(xaOf(holder).prepare(b))).rejects.toEqual(code('XA_RBCOMMFAIL'));
      }
      await advance(1_000);
    }
  });

  it('is held between calls too if a branch keeps it from its start to its end', async () => {
    const { home, other, finish } = openTwoSimulated();
    const holder = other.openSession();
    await finish(xaOf(holder).start(b, { ...tight, lock: 'branch' }));
    const session = home.openSession();
    const start = xaOf(session).start(a, { ...tight, lockWaitMs: 100 });
    await expect(finish(start)).rejects.toEqual(code('XA_RBTIMEOUT'));
    holder.enqueue('orders', { payload: 'o1' });
    await finish(xaOf(holder).end(b));
    await finish(xaOf(session).start(a, { ...tight, lockWaitMs: 100 }));
  });

  it('is taken from a hanging instance after the time limit of its branch', async () => {
    const { home, other, network, finish, advance } = openTwoSimulated();
    const holder = other.openSession();
    await finish(xaOf(holder).start(b, { ...tight, lock: 'branch', timeoutMs: 1_000 }));
    network.cutAll(0); // Without a connection the instance cannot release the lock itself.
    const session = home.openSession();
    await advance(2_000);
    await finish(xaOf(session).start(a, { ...tight, lockWaitMs: 100 }));
  });
});

describe('two sessions that keep locks', () => {
  it('never wait for each other: one gets XA_RBDEADLOCK at once, and the other continues', async () => {
    const { home, other, finish } = openTwoSimulated();
    const [one, two] = [home.openSession(), other.openSession()];
    const keep = { coupling: 'tight', lock: 'branch' } as const;
    // The transactions have different home instances, so neither instance sees the cycle.
    const [t1, t2] = [
      { ...keep, home: 1 },
      { ...keep, home: 2 },
    ];
    await finish(xaOf(one).start(xidOf('t1', 'a'), t1));
    await finish(xaOf(one).end(xidOf('t1', 'a'), 'suspend'));
    await finish(xaOf(two).start(xidOf('t2', 'b'), t2));
    await finish(xaOf(two).end(xidOf('t2', 'b'), 'suspend'));
    const waiting = xaOf(one).start(xidOf('t2', 'a'), t2);
    waiting.catch(() => undefined);
    await expect(finish(xaOf(two).start(xidOf('t1', 'b'), t1))).rejects.toEqual(code('XA_RBDEADLOCK'));
    await finish(xaOf(two).end(xidOf('t2', 'b'), 'success'));
    await finish(waiting);
    await finish(xaOf(one).end(xidOf('t2', 'a')));
    await finish(xaOf(one).start(xidOf('t1', 'a'), { flag: 'resume' }));
    await finish(xaOf(one).end(xidOf('t1', 'a')));
  });

  it('may acquire free locks in any order', async () => {
    const { home, finish } = openTwoSimulated();
    const session = home.openSession();
    const keep = { coupling: 'tight', lock: 'branch' } as const;
    for (const name of ['t2', 't1']) {
      await finish(xaOf(session).start(xidOf(name), keep));
      await finish(xaOf(session).end(xidOf(name), 'suspend'));
    }
    await session.close();
    const other = home.openSession();
    await finish(xaOf(other).start(xidOf('t1', 'b'), { ...keep, lockWaitMs: 10 })); // The close has released the lock.
  });
});

describe('a home instance that was killed', () => {
  it('refuses a start with XAER_RMFAIL, and makes other calls roll the branch back', async () => {
    const { home, other, finish } = openTwoSimulated();
    const [working, ended] = [other.openSession(), other.openSession()];
    const c = xidOf('t1', 'c');
    await finish(xaOf(working).start(b, tight));
    await finish(xaOf(ended).start(c, tight));
    ended.enqueue('orders', { payload: 'o1' });
    await finish(xaOf(ended).end(c));
    home.kill();
    await expect(finish(xaOf(other.openSession()).start(xidOf('t2'), tight))).rejects.toEqual(
      code('XAER_RMFAIL'),
    );
    await expect(finish(working.dequeue('orders'))).rejects.toEqual(code('XA_RBCOMMFAIL'));
    await expect(finish(xaOf(working).end(b))).rejects.toEqual(code('XA_RBCOMMFAIL'));
    await expect(finish(xaOf(ended).prepare(c))).rejects.toEqual(code('XA_RBCOMMFAIL'));
    expect(await finish(xaOf(ended).recover())).toEqual([]);
  });

  it('has lost the locks and the shipped work when it is reopened', async () => {
    const { home, other, finish } = openTwoSimulated();
    const [keeping, ended] = [other.openSession(), other.openSession()];
    await finish(xaOf(ended).start(b, tight));
    ended.enqueue('orders', { payload: 'o1' });
    await finish(xaOf(ended).end(b));
    await finish(xaOf(keeping).start(xidOf('t2'), { ...tight, lock: 'branch' }));
    home.kill();
    home.open();
    await expect(finish(xaOf(keeping).end(xidOf('t2'), 'success'))).rejects.toEqual(code('XA_RBCOMMFAIL'));
    await expect(finish(xaOf(ended).prepare(b))).rejects.toEqual(code('XA_RBCOMMFAIL'));
    await finish(xaOf(home.openSession()).start(xidOf('t2', 'c'), { ...tight, lockWaitMs: 10 }));
  });
});

describe('options of a tightly coupled branch', () => {
  it.each([
    { coupling: 'close' as 'tight' },
    { coupling: 'tight', home: 0 },
    { coupling: 'tight', home: 65 },
    { coupling: 'tight', lockWaitMs: 0 },
    { coupling: 'tight', lockWaitMs: 60_001 },
    { coupling: 'tight', lock: 'transaction' as 'branch' },
    { home: 1 },
    { lockWaitMs: 10 },
    { lock: 'call' },
  ] as const)('%o are refused with XAER_INVAL', async (options) => {
    const { home } = openTwoSimulated();
    const session = home.openSession();
    await expect(xaOf(session).start(a, options)).rejects.toEqual(code('XAER_INVAL'));
    await xaOf(session).start(a);
  });
});

describe('a branch that is joined or resumed', () => {
  it('is rolled back if it waits too long for the lock, after which its session can be used', async () => {
    const simulated = openTwoSimulated();
    const { other, finish, advance } = simulated;
    const c = xidOf('t1', 'c');
    const [joining, resuming] = [other.openSession(), other.openSession()];
    await finish(xaOf(joining).start(b, { ...tight, lockWaitMs: 100 }));
    await finish(xaOf(joining).end(b));
    await finish(xaOf(resuming).start(c, { ...tight, lockWaitMs: 100 }));
    await finish(xaOf(resuming).end(c, 'suspend'));
    const { dequeue } = await openWaitingInBranch(simulated, 5_000);
    await expect(finish(xaOf(joining).start(b, { flag: 'join' }))).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(finish(xaOf(resuming).start(c, { flag: 'resume' }))).rejects.toEqual(code('XA_RBTIMEOUT'));
    for (const [session, xid] of [
      [joining, b],
      [resuming, c],
    ] as const) {
      await expect(finish(xaOf(session).prepare(xid))).rejects.toEqual(code('XA_RBTIMEOUT'));
      await finish(session.commit());
    }
    await advance(5_000);
    await dequeue;
  });
});
