/** What a drop does with the exception queue: nothing is lost silently, and nothing is left that keeps the name. */
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  connectCluster,
  type Instance,
  openInstance,
  type QueueSpec,
  type Session,
  serveInstance,
} from '../src/index.ts';
import { nodePorts } from '../src/node-ports.ts';
import { Membership } from '../src/storage/catalog/membership.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';

const code = (expected: string) => expect.objectContaining({ code: expected });

const kinds: [string, Omit<QueueSpec, 'name'>][] = [
  ['sharded queue', {}],
  ['sharded topic', { type: 'topic' }],
  ['unsharded topic', { kind: 'unsharded', type: 'topic' }],
  ['grouped unsharded topic', { kind: 'unsharded-grouped', type: 'topic' }],
];

async function failOne(host: Pick<Instance, 'subscribe'> & { openSession(): Session }, spec: object) {
  const isTopic = 'type' in spec;
  if (isTopic) await host.subscribe('orders', { name: 'one' });
  const session = host.openSession();
  session.enqueue('orders', { payload: 'poison' });
  await session.commit();
  await session.dequeue('orders', isTopic ? { subscriber: 'one' } : {});
  await session.rollback();
  const reader = host.openSession();
  expect(text(await reader.dequeue('orders.exceptions', { waitMs: 30_000 }))).toEqual(['poison']);
  await reader.rollback();
  await Promise.all([session.close(), reader.close()]);
}

describe.each(kinds)('a %s with attemptsMax', (_kind, spec) => {
  it('takes its exception queue along, so that the name is free again', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders', attemptsMax: 2, ...spec });
    await instance.dropQueue('orders');
    expect(instance.queues()).toEqual([]);
    await instance.createQueue({ name: 'orders', attemptsMax: 5, ...spec });
    expect(instance.queue('orders')).toMatchObject({ attemptsMax: 5, exceptionQueue: 'orders.exceptions' });
  });

  it('stays as it is while messages that failed would be lost, unless they are meant too', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'orders', attemptsMax: 1, ...spec });
    await failOne(instance, spec);
    const before = instance.queues();
    const client = await openTestClient(instance);
    for (const host of [instance, client]) {
      await expect(host.dropQueue('orders')).rejects.toMatchObject({
        code: 'EXCEPTION_QUEUE_NOT_EMPTY',
        message: expect.stringContaining('orders.exceptions has 1 messages'),
        details: { queue: 'orders', exceptionQueue: 'orders.exceptions', messages: 1 },
      });
      await expect(host.dropQueue('orders.exceptions')).rejects.toMatchObject({
        code: 'QUEUE_IN_USE',
        message: expect.stringContaining('orders.exceptions is the exception queue of orders'),
      });
    }
    expect(instance.queues()).toEqual(before);
    await client.dropQueue('orders', { withExceptions: true });
    expect(instance.queues()).toEqual([]);
    await client.close();
    await instance.close();
    const after = await openTestInstance({ dir });
    expect(after.queues()).toEqual([]);
  });
});

describe('the exception queues of several queues', () => {
  it('are dropped each with its own', async () => {
    const instance = await openTestInstance();
    for (const name of ['orders', 'parcels']) await instance.createQueue({ name, attemptsMax: 1 });
    await failOne(instance, {});
    await instance.dropQueue('parcels');
    expect(instance.queues().map(({ name }) => name)).toEqual(['orders.exceptions', 'orders']);
    expect(instance.queue('orders.exceptions').ready).toBe(1);
  });

  it('do not take over a queue that has the name already, and the error names that', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders.exceptions' });
    await expect(instance.createQueue({ name: 'orders', attemptsMax: 1 })).rejects.toMatchObject({
      code: 'QUEUE_EXISTS',
      message: expect.stringContaining('A queue named orders.exceptions already exists'),
      details: { queue: 'orders.exceptions', of: 'orders' },
    });
    await instance.dropQueue('orders.exceptions');
    await instance.createQueue({ name: 'orders', attemptsMax: 1 });
    await expect(instance.createQueue({ name: 'orders', attemptsMax: 1 })).rejects.toMatchObject({
      code: 'QUEUE_EXISTS',
      details: { queue: 'orders' },
    });
  });
});

describe('in a cluster', () => {
  /** Two members of a cluster, both served by this process. */
  async function openTwo() {
    const dir = makeFolder();
    await (await openInstance({ dir })).close();
    const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
    for (const instance of [1, 2]) membership.addMember(instance);
    membership.close();
    const one = await openTestInstance({ dir });
    const two = await openTestInstance({ dir, instance: 2 });
    await Promise.all([serveInstance(one), serveInstance(two)]);
    return { dir, one, two };
  }

  it('the messages of all instances count, and one instance alone does not know them', async () => {
    const { dir, one, two } = await openTwo();
    await one.createQueue({ name: 'orders', attemptsMax: 1, forwarding: false });
    await failOne(two, {});
    await expect(one.dropQueue('orders')).rejects.toMatchObject({
      code: 'EXCEPTION_QUEUE_NOT_EMPTY',
      details: { instances: [2] },
    });
    const client = connectCluster({ dir });
    onTestFinished(() => client.close());
    await expect(client.dropQueue('orders')).rejects.toMatchObject({
      code: 'EXCEPTION_QUEUE_NOT_EMPTY',
      details: { messages: 1 },
    });
    const session = client.openSession();
    expect(await session.dequeue('orders.exceptions', { waitMs: 30_000 })).toHaveLength(1);
    await session.commit();
    await client.dropQueue('orders');
    expect(await client.queues()).toEqual([]);
    expect([one.queues(), two.queues()]).toEqual([[], []]);
  });

  it('an instance that is not served may have messages that failed', async () => {
    const { dir, one, two } = await openTwo();
    await one.createQueue({ name: 'orders', attemptsMax: 1 });
    await two.close();
    const client = connectCluster({ dir, connectMs: 100 });
    onTestFinished(() => client.close());
    await expect(client.dropQueue('orders')).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    expect(one.queue('orders')).toMatchObject({ exceptionQueue: 'orders.exceptions' });
    await client.dropQueue('orders', { withExceptions: true });
    expect(one.queues()).toEqual([]);
  });
});
