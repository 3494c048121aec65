/** What the coordinator does when a call takes too long or its disk is full, in simulated time. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { XaResource } from '../../src/api/xa.ts';
import { Coordinator } from '../../src/xa/coordinator/coordinator.ts';
import { Chance, drainPromises, Scheduler } from '../simulator/scheduler.ts';
import { SimulatedInstance } from '../simulator/simulated-instance.ts';
import { SimulatedNetwork } from '../simulator/simulated-interconnect.ts';
import { simulatedQueues } from '../simulator/simulated-queues.ts';
import { code } from './support.ts';

type Participant = 'one' | 'two';
type Call = 'prepare' | 'commit' | 'recover';

/** Two instances with a coordinator on the first one. Participants answer except for calls in `hanging`. */
function openTwo() {
  const scheduler = new Scheduler();
  const chance = new Chance(1);
  const network = new SimulatedNetwork(scheduler, chance, () => undefined);
  const [one, two] = [1, 2].map((instance) => {
    const simulated = new SimulatedInstance({
      instance,
      instances: [instance],
      scheduler,
      chance,
      network,
      queues: simulatedQueues,
      cacheBytesMax: 1_000_000,
      partitionMessagesMax: 4,
      consumerIdleMs: 500,
    });
    simulated.open();
    return simulated;
  }) as [SimulatedInstance, SimulatedInstance];
  /** Calls that participants do not answer. */
  const hanging = new Set<`${Participant} ${Call}`>();
  const resourceOf = (name: Participant, { opening }: SimulatedInstance): XaResource => {
    const { branches } = opening!.parts;
    const answer = <T>(call: Call, make: () => Promise<T>): Promise<T> =>
      hanging.has(`${name} ${call}`) ? new Promise(() => undefined) : make();
    return {
      prepare: (xid) => answer('prepare', () => branches.prepare(xid)),
      commit: (xid, options) => answer('commit', () => branches.commit(xid, options)),
      rollback: (xid) => branches.rollback(xid),
      recover: () => answer('recover', () => branches.recover()),
      forget: (xid) => branches.forget(xid),
    };
  };
  const { parts, ports } = one.opening!;
  const coordinator = new Coordinator({
    instance: 1,
    epoch: parts.epoch,
    decisions: parts.decisions,
    participants: new Map([
      ['one', resourceOf('one', one)],
      ['two', resourceOf('two', two)],
    ]),
    ports,
  });

  /** Lets simulated time pass until the call has ended; returns its error or 'done', and how long it took. */
  async function finish(call: Promise<unknown>): Promise<{ how: unknown; tookMs: number }> {
    const startedMs = scheduler.nowMs;
    let ended: { how: unknown } | undefined;
    const end = (how: unknown) => {
      ended = { how };
    };
    call.then(() => end('done'), end);
    await drainPromises();
    while (ended === undefined && scheduler.runNext()) await drainPromises();
    return { how: ended?.how, tookMs: scheduler.nowMs - startedMs };
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = scheduler.nowMs + ms;
    await drainPromises();
    while (scheduler.runNext(untilMs)) await drainPromises();
    scheduler.moveTo(untilMs);
  }

  /** Enqueues a message on each instance and commits. */
  async function transact(): Promise<{ how: unknown; tookMs: number }> {
    const transaction = coordinator.begin();
    for (const [name, instance] of [['one', one] as const, ['two', two] as const]) {
      const session = instance.openSession();
      await finish(transaction.enlist(name, session));
      session.enqueue('orders', { payload: `of ${name}` });
    }
    return finish(transaction.commit());
  }

  async function takeAll(instance: SimulatedInstance): Promise<string[]> {
    const session = instance.openSession();
    const payloads: string[] = [];
    await finish(
      session.dequeue('orders', { max: 10 }).then((all) => {
        payloads.push(...all.map(({ payload }) => payload.toString()));
      }),
    );
    await finish(session.commit());
    return payloads;
  }

  return { one, two, coordinator, decisions: parts.decisions, hanging, transact, finish, advance, takeAll };
}

/** Expects the limit, plus some time for answers of the disk. */
function expectGivenUp(tookMs: number): void {
  expect(tookMs).toBeGreaterThanOrEqual(limits.xaCallMsMax);
  expect(tookMs).toBeLessThan(limits.xaCallMsMax + 1_000);
}

describe('a participant that does not answer within xaCallMsMax', () => {
  it('to its prepare: the transaction is rolled back everywhere, and its caller gets an error', async () => {
    const { one, two, hanging, transact, takeAll, finish, coordinator } = openTwo();
    hanging.add('two prepare');
    const { how, tookMs } = await transact();
    expect(how).toEqual(code('XAER_RMFAIL'));
    expect(how).toMatchObject({ details: { msMax: limits.xaCallMsMax } });
    expectGivenUp(tookMs);
    expect([await takeAll(one), await takeAll(two)]).toEqual([[], []]);
    expect(await finish(coordinator.resolve())).toMatchObject({ how: 'done' });
  });

  it('to its commit: the transaction is committed, and its branch once it answers again', async () => {
    const { one, two, decisions, hanging, transact, takeAll, advance } = openTwo();
    hanging.add('two commit');
    const { how, tookMs } = await transact();
    expect(how).toBe('done');
    expectGivenUp(tookMs);
    expect([await takeAll(one), await takeAll(two), decisions.all.length]).toEqual([['of one'], [], 1]);
    hanging.clear();
    await advance(limits.xaResolveMs + 1_000); // The coordinator retries by itself.
    expect([await takeAll(two), decisions.all]).toEqual([['of two'], []]);
  });

  it('to the request for its branches in doubt: the branches of other participants are resolved nevertheless', async () => {
    const { one, two, coordinator, decisions, hanging, transact, takeAll, finish } = openTwo();
    hanging.add('one commit').add('two commit');
    await transact();
    expect([await takeAll(one), await takeAll(two)]).toEqual([[], []]);
    hanging.clear();
    hanging.add('two recover');
    const { how, tookMs } = await finish(coordinator.resolve());
    expect(how).toBe('done');
    expectGivenUp(tookMs);
    // The decision is kept until it is known that no branch is left.
    expect([await takeAll(one), await takeAll(two), decisions.all.length]).toEqual([['of one'], [], 1]);
  });
});

it('a decision that cannot be forgotten, as the disk is full, is forgotten once it can be', async () => {
  const { one, decisions, transact, advance } = openTwo();
  const forget = decisions.forget.bind(decisions);
  let failures = 2;
  decisions.forget = (gtrid) => {
    if (failures > 0) one.faults.next = 'diskFull';
    failures -= 1;
    return forget(gtrid);
  };
  const stored = () => one.file.tables.decisions.size;
  expect((await transact()).how).toBe('done');
  expect([stored(), decisions.all.length]).toEqual([1, 1]);
  await advance(limits.xaResolveMs + 1_000);
  expect([stored(), decisions.all.length]).toEqual([1, 1]);
  await advance(limits.xaResolveMs + 1_000);
  expect([stored(), decisions.all.length]).toEqual([0, 0]);
});
