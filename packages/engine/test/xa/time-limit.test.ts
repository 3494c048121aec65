/** The time limit of an unprepared branch, in simulated time. */
import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/api/session.ts';
import { Chance, drainPromises, Scheduler } from '../simulator/scheduler.ts';
import { SimulatedInstance } from '../simulator/simulated-instance.ts';
import { SimulatedNetwork } from '../simulator/simulated-interconnect.ts';
import { simulatedQueues } from '../simulator/simulated-queues.ts';
import { code, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

const xid = xidOf('transfer 1');

function openSimulated() {
  const scheduler = new Scheduler();
  const chance = new Chance(1);
  const network = new SimulatedNetwork(scheduler, chance, () => undefined);
  const instance = new SimulatedInstance({
    instance: 1,
    instances: [1],
    scheduler,
    chance,
    network,
    queues: simulatedQueues,
    cacheBytesMax: 1_000_000,
    partitionMessagesMax: 10,
    consumerIdleMs: 500,
  });
  instance.open();
  /** Advances time and lets all calls proceed. */
  const advance = async (ms: number) => {
    const untilMs = scheduler.nowMs + ms;
    await drainPromises();
    while (scheduler.runNext(untilMs)) await drainPromises();
    scheduler.moveTo(untilMs);
  };
  const finish = async <T>(call: Promise<T>): Promise<T> => {
    await advance(500);
    return call;
  };
  return { instance, advance, finish };
}

async function holdOne({ instance, finish }: ReturnType<typeof openSimulated>): Promise<Session> {
  const session = instance.openSession();
  session.enqueue('orders', { payload: 'o1' });
  await finish(session.commit());
  await xaOf(session).start(xid, { timeoutMs: 5_000 });
  expect(await finish(session.dequeue('orders'))).toHaveLength(1);
  return session;
}

describe('a branch whose time is over', () => {
  it('is rolled back even if a session works in it, which gets the reason at its end', async () => {
    const simulated = openSimulated();
    const session = await holdOne(simulated);
    await simulated.advance(5_000);
    await expect(xaOf(session).end(xid)).rejects.toEqual(code('XA_RBTIMEOUT'));
    expect(await simulated.finish(session.dequeue('orders'))).toHaveLength(1);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XA_RBTIMEOUT'));
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XAER_NOTA'));
  });

  it('is rolled back after its end too, and its prepare gets the reason', async () => {
    const simulated = openSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    await simulated.advance(5_000);
    const other = simulated.instance.openSession();
    expect(await simulated.finish(other.dequeue('orders'))).toHaveLength(1);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XA_RBTIMEOUT'));
  });

  it('is forgotten if no call asks for it for as long again', async () => {
    const simulated = openSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    await simulated.advance(11_000);
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XAER_NOTA'));
  });

  it('is kept for ever if it was prepared before', async () => {
    const simulated = openSimulated();
    const session = await holdOne(simulated);
    await xaOf(session).end(xid);
    expect(await simulated.finish(xaOf(session).prepare(xid))).toBe('ok');
    await simulated.advance(3_600_000);
    const other = simulated.instance.openSession();
    expect(await simulated.finish(other.dequeue('orders'))).toEqual([]);
    await simulated.finish(xaOf(other).rollback(xid));
    expect(await simulated.finish(other.dequeue('orders'))).toHaveLength(1);
  });
});
