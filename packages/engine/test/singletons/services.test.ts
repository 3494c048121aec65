/** Singleton services of an instance in this process: activation, calls and stored state. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import {
  connect,
  type Instance,
  type Json,
  openInstance,
  QueueError,
  type ServiceSpec,
} from '../../src/index.ts';
import type { LocalInstance } from '../../src/runtime/local-instance.ts';
import { makeFolder, openTestClient, openTestInstance, text } from '../folder.ts';
import { waiting } from '../waiting.ts';

const module = fileURLToPath(new URL('./counter.ts', import.meta.url));
const code = (value: string) => expect.objectContaining({ code: value });

const counter = (options: Json = {}): ServiceSpec => ({ name: 'counter', module, options });

async function activeInstance(dir: string, spec: ServiceSpec): Promise<Instance> {
  const instance = await openTestInstance({ dir, services: [spec] });
  await vi.waitFor(() => expect(instance.services()).toMatchObject([{ status: 'active' }]), waiting);
  return instance;
}

describe('a singleton service', () => {
  it('has one value for all clients: 5 at the activation, and 13 after one of them has added 8', async () => {
    const dir = makeFolder();
    const one = await openTestClient(await openTestInstance({ dir, services: [counter()] }));
    const two = await connect({ dir });
    onTestFinished(() => two.close());
    expect(await one.callService('counter', 'get')).toBe(5);
    expect(await one.callService('counter', 'add', 8)).toBe(13);
    expect(await two.callService('counter', 'get')).toBe(13);
  });

  it('is one of as many as an instance may have, each with a value of its own, and one more is refused', async () => {
    const services = Array.from({ length: limits.servicesMax }, (_, index) => ({
      ...counter(),
      name: `counter-${index}`,
    }));
    const dir = makeFolder();
    const client = await openTestClient(await openTestInstance({ dir, services }));
    const names = services.map(({ name }) => name);
    const sums = await Promise.all(names.map((name, index) => client.callService(name, 'add', index)));
    expect(sums).toEqual(names.map((_, index) => 5 + index));
    const oneMore = { ...counter(), name: 'one-more' };
    await expect(openInstance({ dir: makeFolder(), services: [...services, oneMore] })).rejects.toEqual(
      code('SERVICE_SPEC_INVALID'),
    );
  });

  it('runs one call at a time, in the order of arrival', async () => {
    const instance = await openTestInstance({ services: [counter()] });
    const sums = Array.from({ length: 20 }, () => instance.callService('counter', 'add', 1));
    expect(await Promise.all(sums)).toEqual(Array.from({ length: 20 }, (_, index) => 6 + index));
  });

  it('begins with its initial value after a restart unless it stores its state', async () => {
    for (const kept of [false, true]) {
      const dir = makeFolder();
      const first = await openTestInstance({ dir, services: [counter({ kept })] });
      await first.callService('counter', 'add', 8);
      await first.close();
      const second = await openTestInstance({ dir, services: [counter({ kept })] });
      expect(await second.callService('counter', 'get')).toBe(kept ? 13 : 5);
    }
  });

  it('commits its state and its messages together, or neither', async () => {
    const dir = makeFolder();
    const instance = await activeInstance(dir, counter({ kept: true }));
    await instance.createQueue({ name: 'q' });
    await instance.callService('counter', 'announce', 'q');
    const session = instance.openSession();
    expect(text(await session.dequeue('q'))).toEqual(['5']);
    await session.commit();
    await expect(instance.callService('counter', 'announce', 'missing')).rejects.toEqual(
      code('SERVICE_CALL_FAILED'),
    );
  });

  it('keeps the state of a transaction whose commit or rollback was refused', async () => {
    const instance = (await openTestInstance()) as LocalInstance;
    await instance.createQueue({ name: 'q' });
    const state = { name: 'counter', epoch: instance.epoch, text: undefined };
    const session = instance.openServiceSession(state, new Set());
    session.writeState(8);
    const dequeuing = session.dequeue('q', { waitMs: 60_000 });
    await expect(session.commit()).rejects.toEqual(code('SESSION_BUSY'));
    await expect(session.rollback()).rejects.toEqual(code('SESSION_BUSY'));
    session.stopWait();
    await dequeuing;
    await session.commit();
    expect(state.text).toBe('8');
  });

  it('is called at its activation and deactivation, and has a history of both', async () => {
    const dir = makeFolder();
    const events = join(dir, 'events');
    for (let opening = 1; opening <= 2; opening += 1) {
      const instance = await activeInstance(dir, counter({ events }));
      expect(instance.services()).toMatchObject([
        { name: 'counter', preferred: 1, holder: { pid: process.pid, instance: 1 }, failure: null },
      ]);
      expect(instance.stats().commits).toBe(0); // the history is written by no session
      await instance.close();
    }
    const epochs = readFileSync(events, 'utf8').trim().split('\n');
    expect(epochs.map((line) => line.split(' ')[0])).toEqual([
      'activate',
      'deactivate',
      'activate',
      'deactivate',
    ]);
    const last = await activeInstance(dir, counter());
    const { history } = last.services()[0]!;
    expect(history).toHaveLength(3);
    expect(history.map(({ deactivatedAtMs }) => deactivatedAtMs === null)).toEqual([false, false, true]);
  });

  it('reports errors of the caller and errors of its own with different codes', async () => {
    const instance = await activeInstance(makeFolder(), counter());
    const client = await openTestClient(instance);
    await expect(client.callService('nobody', 'get')).rejects.toEqual(code('SERVICE_NOT_FOUND'));
    await expect(client.callService('counter', 'constructor')).rejects.toEqual(
      code('SERVICE_CALL_NOT_FOUND'),
    );
    await expect(client.callService('counter', 'fail')).rejects.toEqual(code('SERVICE_CALL_FAILED'));
    await expect(client.callService('counter', 'tooLarge')).rejects.toEqual(code('SERVICE_CALL_FAILED'));
    await expect(client.callService('counter', 'add', 'x'.repeat(300_000))).rejects.toEqual(
      code('SERVICE_CALL_INVALID'),
    );
    expect(await client.callService('counter', 'get')).toBe(5);
  });

  it('is activated again after it has reported that it cannot continue', async () => {
    const instance = await activeInstance(makeFolder(), counter());
    await instance.callService('counter', 'add', 1);
    await instance.callService('counter', 'giveUp');
    await vi.waitFor(
      () =>
        expect(instance.services()).toMatchObject([
          { status: 'active', failure: { code: 'SERVICE_FAILED', message: 'it gave up' } },
        ]),
      waiting,
    );
    expect(await instance.callService('counter', 'get')).toBe(5);
    expect(instance.services()[0]!.history).toHaveLength(2);
  });

  it('that cannot be loaded is reported, and the queues are served', async () => {
    const instance = await openTestInstance({ services: [{ name: 'x', module: '/nowhere/x.ts' }] });
    await vi.waitFor(
      () =>
        expect(instance.services()).toMatchObject([
          { status: 'failed', failure: { code: 'SERVICE_SPEC_INVALID' } },
        ]),
      waiting,
    );
    await expect(instance.callService('x', 'get')).rejects.toEqual(code('SERVICE_NOT_ACTIVE'));
    await instance.createQueue({ name: 'q' });
  });

  it('that hangs does not keep its instance from closing', async () => {
    const instance = await activeInstance(makeFolder(), counter());
    const hanging = instance.callService('counter', 'never');
    hanging.catch(() => undefined); // The call is never answered.
    await new Promise((resolve) => setImmediate(resolve)); // By now the call has begun.
    await instance.close();
    await expect(instance.callService('counter', 'get')).rejects.toEqual(code('INSTANCE_CLOSED'));
  });

  it('is deactivated when its instance has ended without being closed', async () => {
    const dir = makeFolder();
    const events = join(dir, 'events');
    const instance = await activeInstance(dir, counter({ events }));
    (instance as LocalInstance).fence(new QueueError('INSTANCE_FENCED'));
    await vi.waitFor(() => expect(readFileSync(events, 'utf8')).toContain('deactivate'), waiting);
    await vi.waitFor(() => expect(instance.services()).toMatchObject([{ status: 'inactive' }]), waiting);
    await expect(instance.callService('counter', 'get')).rejects.toEqual(code('INSTANCE_FENCED'));
  });

  it('with another preferred instance is not active on this one', async () => {
    const instance = await openTestInstance({ services: [{ ...counter(), preferred: 2 }] });
    expect(instance.services()).toEqual([]);
    await expect(instance.callService('counter', 'get')).rejects.toEqual(code('SERVICE_NOT_FOUND'));
  });

  it.each<[string, ServiceSpec[]]>([
    ['no name', [{ name: '', module }]],
    ['a slash in the name', [{ name: 'a/b', module }]],
    ['one name twice', [counter(), counter()]],
    ['an invalid instance', [{ ...counter(), preferred: 65 }]],
  ])('is refused with %s', async (_what, services) => {
    await expect(openTestInstance({ services })).rejects.toEqual(code('SERVICE_SPEC_INVALID'));
  });
});
