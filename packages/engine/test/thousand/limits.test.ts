/** At a limit one more gets an error of its own, nothing else changes, and there is room again once one has ended. */
import { describe, expect, it } from 'vitest';
import type { limits } from '../../src/api/limits.ts';
import type { Instance, Session } from '../../src/index.ts';
import { openTestClient, openTestInstance, text } from '../folder.ts';
import { lowerLimits } from '../support/lower-limits.ts';
import { xaOf } from '../xa/support.ts';
import { xidOf } from '../xa/xid-of.ts';

interface Row {
  thing: string;
  limit: keyof typeof limits;
  code: string;
  /** Uses the thing `limit` times. Resolves with what would use it once more, and with what ends one use. */
  use(instance: Instance, session: Session, most: number): Promise<{ more(): unknown; end?(): unknown }>;
}

const make = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => one(i));

async function fill(session: Session, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) session.enqueue('q', { payload: String(i) });
  await session.commit();
}

async function* streamed() {
  yield Buffer.alloc(300_000);
}

const rows: Row[] = [
  {
    thing: 'sessions of an instance',
    limit: 'sessionsMax',
    code: 'SESSIONS_FULL',
    use: async (instance, session, most) => {
      make(most - 1, () => instance.openSession());
      return { more: () => instance.openSession(), end: () => session.close() };
    },
  },
  {
    thing: 'calls that wait for a queue',
    limit: 'waitersMax',
    code: 'WAITERS_FULL',
    use: async (instance, session, most) => {
      for (const waiting of make(most, () => instance.openSession()))
        void waiting.dequeue('q', { waitMs: 60_000 });
      const more = () => session.dequeue('q', { waitMs: 1 });
      return { more, end: () => fill(instance.openSession(), 1) };
    },
  },
  {
    thing: 'held messages',
    limit: 'holdsMax',
    code: 'HOLDS_FULL',
    use: async (_, session, most) => {
      await fill(session, most + 1);
      const [{ receipt } = { receipt: '' }] = await session.receive('q', { max: most });
      return { more: () => session.receive('q'), end: () => session.release('q', [receipt]) };
    },
  },
  {
    thing: 'held messages of unsharded queues',
    limit: 'holdsMax',
    code: 'HOLDS_FULL',
    use: async (instance, session, most) => {
      await instance.createQueue({ name: 'u', kind: 'unsharded' });
      for (let i = 0; i <= most; i += 1) session.enqueue('u', { payload: 'x' });
      await session.commit();
      const [{ receipt } = { receipt: '' }] = await session.receive('u', { max: most });
      return { more: () => session.receive('u'), end: () => session.release('u', [receipt]) };
    },
  },
  {
    thing: 'queues',
    limit: 'queuesMax',
    code: 'QUEUE_SPEC_INVALID',
    use: async (instance, _, most) => {
      for (const name of make(most - 2, (i) => `more${i}`)) await instance.createQueue({ name });
      return {
        more: () => instance.createQueue({ name: 'last' }),
        end: () => instance.dropQueue('more0'),
      };
    },
  },
  {
    thing: 'subscribers of a topic',
    limit: 'subscribersMax',
    code: 'SUBSCRIBERS_FULL',
    use: async (instance, _, most) => {
      for (const name of make(most, (i) => `s${i}`)) await instance.subscribe('t', { name });
      return {
        more: () => instance.subscribe('t', { name: 'last' }),
        end: () => instance.unsubscribe('t', 's0'),
      };
    },
  },
  {
    thing: 'branches',
    limit: 'branchesMax',
    code: 'XAER_RMERR',
    use: async (instance, session, most) => {
      const sessions = make(most, () => instance.openSession());
      for (const [i, one] of sessions.entries()) await xaOf(one).start(xidOf(`b${i}`));
      return {
        more: () => xaOf(session).start(xidOf('last')),
        end: async () => {
          await xaOf(sessions[0]!).end(xidOf('b0'));
          await xaOf(sessions[0]!).rollback(xidOf('b0'));
        },
      };
    },
  },
  {
    thing: 'streamed payloads',
    limit: 'streamedPayloadsMax',
    code: 'BACKLOG_FULL',
    use: async (instance, session, most) => {
      for (let i = 0; i < most; i += 1) await session.enqueueStream('q', { payload: streamed() });
      await session.commit();
      const other = instance.openSession();
      return {
        more: () => other.enqueueStream('q', { payload: streamed() }),
        end: async () => {
          await session.dequeue('q');
          await session.commit();
        },
      };
    },
  },
  {
    thing: 'operations of a transaction',
    limit: 'transactionOperationsMax',
    code: 'TX_TOO_LARGE',
    use: async (_, session, most) => {
      for (let i = 0; i < most; i += 1) session.enqueue('q', { payload: 'x' });
      return { more: () => session.enqueue('q', { payload: 'x' }), end: () => session.commit() };
    },
  },
  {
    thing: 'properties of a message',
    limit: 'propertiesMax',
    code: 'MESSAGE_INVALID',
    use: async (_, session, most) => {
      const send = (count: number) => {
        const properties = Object.fromEntries(make(count, (i) => [`p${i}`, 'x']));
        session.enqueue('q', { payload: 'x', properties });
      };
      send(most);
      return { more: () => send(most + 1) };
    },
  },
];

const most = 5;

describe('at the limit', () => {
  it.each(rows)('of $thing', async ({ limit, code, use }) => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', shards: 1 });
    await instance.createQueue({ name: 't', type: 'topic' });
    const [session, bystander] = [instance.openSession(), instance.openSession()];
    bystander.enqueue('q', { payload: 'bystander' });
    lowerLimits({ [limit]: most + (limit === 'sessionsMax' ? 1 : 0) });
    const { more, end } = await use(instance, session, most);
    const before = instance.queues();
    // Nothing throws before it is awaited.
    const attempt = async () => await more();
    for (let i = 0; i < 2; i += 1) await expect(attempt()).rejects.toMatchObject({ code });
    expect(instance.queues()).toEqual(before);
    if (end !== undefined) {
      await end();
      await attempt();
    }
    expect((await bystander.commit()).ids).toHaveLength(1);
  });
});

it('receives that wait hold no more messages than there is room for', async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', shards: 1 });
  await instance.createQueue({ name: 'u', kind: 'unsharded' });
  lowerLimits({ holdsMax: most });
  for (const queue of ['q', 'u']) {
    const waits = make(3, () => instance.openSession().receive(queue, { max: most, waitMs: 30_000 }));
    const settled = Promise.allSettled(waits);
    const session = instance.openSession();
    await Promise.resolve();
    for (let i = 0; i < 2 * most; i += 1) session.enqueue(queue, { payload: 'x' });
    await session.commit();
    const outcomes = await settled;
    const held = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    expect(held).toHaveLength(most);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'HOLDS_FULL' });
    expect(instance.queue(queue)).toMatchObject({ held: most, ready: most });
  }
});

it('a client refuses one more session, and as many receipts as no transaction can have', async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q' });
  const client = await openTestClient(instance);
  lowerLimits({ sessionsMax: most, transactionOperationsMax: most });
  const sessions = make(most, () => client.openSession());
  expect(() => client.openSession()).toThrow(expect.objectContaining({ code: 'SESSIONS_FULL' }));
  const [session] = sessions;
  const receipts = make(most + 1, (i) => `r${i}`);
  for (const call of [() => session!.release('q', receipts), () => session!.extend('q', receipts, 1_000)])
    await expect(call()).rejects.toMatchObject({ code: 'TX_TOO_LARGE' });
  await sessions[1]!.close();
  const last = client.openSession();
  last.enqueue('q', { payload: 'x' });
  await last.commit();
  expect(text(await session!.dequeue('q'))).toEqual(['x']);
});
