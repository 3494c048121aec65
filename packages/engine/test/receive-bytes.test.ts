/** The bound of bytes of a receive: what does not fit stays ready, in order and without an attempt. */
import { describe, expect, it } from 'vitest';
import type { Instance, QueueSpec, RemoteInstance } from '../src/index.ts';
import { openTestClient, openTestInstance } from './folder.ts';

const open: Record<string, () => Promise<{ instance: Instance; host: Instance | RemoteInstance }>> = {
  async embedded() {
    const instance = await openTestInstance();
    return { instance, host: instance };
  },
  async remote() {
    const instance = await openTestInstance();
    return { instance, host: await openTestClient(instance) };
  },
};

const queues: [what: string, spec: Partial<QueueSpec>][] = [
  ['durable', {}],
  ['in memory', { durability: 'memory' }],
  ['with priorities', { priorities: true }],
  ['whose attempts are limited', { attemptsMax: 2 }],
  ['unsharded', { kind: 'unsharded' }],
];

const sizes = (messages: { payload: Buffer }[]) => messages.map(({ payload }) => payload.length);

describe.each(Object.keys(open))('a receive that is %s', (how) => {
  it.each(queues)('ends before the message that would pass the bound, of a queue %s', async (_what, spec) => {
    const { instance, host } = await open[how]!();
    await instance.createQueue({ name: 'q', ...spec });
    const session = host.openSession();
    for (const bytes of [40_000, 30_000, 50_000, 10, 20])
      session.enqueue('q', { payload: Buffer.alloc(bytes) });
    await session.commit();
    const receive = async (bytesMax: number, max = 10) => session.receive('q', { max, bytesMax });
    const first = await receive(72_000);
    expect(sizes(first)).toEqual([40_000, 30_000]);
    expect(instance.queue('q')).toMatchObject({ ready: 3, held: 2 });
    // One message comes whatever its size; the surplus of the calls before is as new.
    expect(sizes(await receive(1))).toEqual([50_000]);
    const last = await receive(1_000_000, 1);
    expect(last.map(({ payload, deliveryCount }) => [payload.length, deliveryCount])).toEqual([[10, 1]]);
    // Those that were returned come again, the first of them first.
    await session.release(
      'q',
      first.map(({ receipt }) => receipt),
    );
    expect(sizes(await receive(50_000))).toEqual([40_000]);
    expect(sizes(await receive(50_000))).toEqual(spec.kind === 'unsharded' ? [30_000] : [30_000, 20]);
  });

  it('refuses a bound that is none', async () => {
    const { instance, host } = await open[how]!();
    await instance.createQueue({ name: 'q' });
    for (const bytesMax of [0, -1, 1.5, Number.NaN, 2 ** 40]) {
      await expect(host.openSession().receive('q', { bytesMax })).rejects.toMatchObject({
        code: 'OPTIONS_INVALID',
      });
    }
  });
});
