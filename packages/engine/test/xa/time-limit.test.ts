/** The time limit of an unprepared branch, in simulated time. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Session } from '../../src/api/session.ts';
import { InvariantViolation } from '../../src/model/invariant.ts';
import { ShardedTransaction } from '../../src/queues/sharded-transaction.ts';
import { text } from '../folder.ts';
import { code, xaOf } from './support.ts';
import { openTwoSimulated, type TwoSimulated } from './two-simulated.ts';
import { xidOf } from './xid-of.ts';

const xid = xidOf('transfer 1');

async function holdOne({ home, finish }: TwoSimulated): Promise<Session> {
  const session = home.openSession();
  session.enqueue('orders', { payload: 'o1' });
  await finish(session.commit());
  await xaOf(session).start(xid, { timeoutMs: 5_000 });
  expect(await finish(session.dequeue('orders'))).toHaveLength(1);
  return session;
}

describe('a branch whose time is over', () => {
  it('is rolled back even if a session works in it, which gets the reason at its end', async () => {
    const simulated = openTwoSimulated();
    const session = await holdOne(simulated);
    await simulated.advance(5_000);
    // The message is returned by a commit, which takes simulated time.
    await expect(simulated.finish(xaOf(session).end(xid))).rejects.toEqual(code('XA_RBTIMEOUT'));
    expect(await simulated.finish(session.dequeue('orders'))).toHaveLength(1);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XAER_NOTA'));
  });

  it('is rolled back after its end too, and its prepare gets the reason', async () => {
    const simulated = openTwoSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    await simulated.advance(5_000);
    const other = simulated.home.openSession();
    expect(await simulated.finish(other.dequeue('orders'))).toHaveLength(1);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XA_RBTIMEOUT'));
  });

  it('ends no process if its rollback finds a broken invariant, which has stopped the instance', async () => {
    const simulated = openTwoSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    const violation = new InvariantViolation('it was broken for this test');
    const rollback = vi.spyOn(ShardedTransaction.prototype, 'rollback').mockRejectedValueOnce(violation);
    onTestFinished(() => rollback.mockRestore());
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    await simulated.advance(5_000);
    await nextTurn(); // when Node reports it
    process.off('unhandledRejection', note);
    expect(rollback).toHaveBeenCalledOnce();
    expect(unhandled).toEqual([]);
  });

  it('is forgotten if no call asks for it for as long again', async () => {
    const simulated = openTwoSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    await simulated.advance(11_000);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XAER_NOTA'));
  });

  it('is kept for ever if it was prepared before', async () => {
    const simulated = openTwoSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    expect(await simulated.finish(xaOf(session).prepare(xid))).toBe('ok');
    await simulated.advance(3_600_000);
    const other = simulated.home.openSession();
    expect(await simulated.finish(other.dequeue('orders'))).toEqual([]);
    await simulated.finish(xaOf(other).rollback(xid));
    expect(await simulated.finish(other.dequeue('orders'))).toHaveLength(1);
  });
});

it('work that a branch shipped and was promised outlives its time limit while a branch of its home instance can take it', async () => {
  const simulated = openTwoSimulated();
  const { advance, finish } = simulated;
  const [home, remote] = [simulated.home.openSession(), simulated.other.openSession()];
  const [own, shipped] = [xidOf('transfer 2', 'a'), xidOf('transfer 2', 'b')];
  const tight = { coupling: 'tight', home: 1 } as const;
  await finish(xaOf(home).start(own, { ...tight, timeoutMs: 60_000 }));
  home.enqueue('events', { payload: 'own' });
  await finish(xaOf(home).end(own));
  await finish(xaOf(remote).start(shipped, { ...tight, timeoutMs: 5_000 }));
  remote.enqueue('events', { payload: 'shipped' });
  await finish(xaOf(remote).end(shipped));
  expect(await finish(xaOf(remote).prepare(shipped))).toBe('read-only');
  await advance(12_000);
  expect(await finish(xaOf(home).prepare(own))).toBe('ok');
  await finish(xaOf(home).commit(own));
  const consumer = simulated.home.openSession();
  expect(text(await finish(consumer.dequeue('events', { max: 10 })))).toEqual(['own', 'shipped']);
});

it('promised work is dropped when the branch of the home instance is over too', async () => {
  const simulated = openTwoSimulated();
  const { advance, finish } = simulated;
  const [home, remote] = [simulated.home.openSession(), simulated.other.openSession()];
  const [own, shipped] = [xidOf('transfer 3', 'a'), xidOf('transfer 3', 'b')];
  const tight = { coupling: 'tight', home: 1, timeoutMs: 5_000 } as const;
  await finish(xaOf(home).start(own, tight));
  await finish(xaOf(home).end(own));
  await finish(xaOf(remote).start(shipped, tight));
  remote.enqueue('events', { payload: 'shipped' });
  await finish(xaOf(remote).end(shipped));
  expect(await finish(xaOf(remote).prepare(shipped))).toBe('read-only');
  await advance(12_000);
  expect(simulated.home.opening!.parts.homeInstances.shipped.size).toBe(0);
});
