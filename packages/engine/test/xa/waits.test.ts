/** The waits of a session in a distributed transaction are in its own time book. */
import { expect, it } from 'vitest';
import { openTestInstance } from '../folder.ts';
import { xidOf } from './xid-of.ts';

it('a prepare and a commit each wait for one log file sync, a read-only prepare for none', async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'orders' });
  const session = instance.openSession();
  const waits: string[] = [];
  session.time!.observe((state) => waits.push(state));
  const syncs = () => waits.filter((state) => state === 'log file sync').length;
  const work = async (name: string, payload?: string) => {
    await session.xa!.start(xidOf(name));
    if (payload !== undefined) session.enqueue('orders', { payload });
    await session.xa!.end(xidOf(name));
  };
  await work('a', 'one');
  expect(await session.xa!.prepare(xidOf('a'))).toBe('ok');
  expect(syncs()).toBe(1);
  await session.xa!.commit(xidOf('a'));
  expect(syncs()).toBe(2);
  await work('b');
  expect(await session.xa!.prepare(xidOf('b'))).toBe('read-only');
  expect(syncs()).toBe(2);
  const total = instance.waits.snapshot().find(({ event }) => event === 'log file sync')!;
  expect(total.waits).toBe(2);
});
