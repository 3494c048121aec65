/** An emulated interconnect delays requests between instances, and the waits for them are marked as emulated. */
import { expect, it, onTestFinished } from 'vitest';
import { openInstance, serveInstance } from '../src/index.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { xidOf } from './xa/xid-of.ts';

const emulatedInterconnectMs = 80;

async function serve(dir: string, instance: number, options = {}) {
  const opened = await openInstance({ dir, instance, ...options });
  const served = await serveInstance(opened);
  onTestFinished(() => served.close().then(() => opened.close()));
  return opened;
}

it('delays forwarded messages, and marks the wait as emulated', async () => {
  const dir = makeFolder();
  const owner = await serve(dir, 1, { emulatedInterconnectMs });
  await owner.createQueue({ name: 'orders' });
  const other = await serve(dir, 2, { emulatedInterconnectMs });
  const producer = owner.openSession();
  const consumer = other.openSession();
  const startedMs = performance.now();
  producer.enqueue('orders', { payload: 'a' });
  await producer.commit();
  expect(text(await consumer.dequeue('orders', { waitMs: 60_000 }))).toEqual(['a']);
  // Two messages are delayed: the request for messages, and the batch.
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(2 * emulatedInterconnectMs);
  const forwarding = owner.waits.snapshot().find(({ event }) => event === 'forwarding');
  expect(forwarding).toMatchObject({ emulated: true });
});

it('delays calls to the home instance of a tightly coupled branch, and marks the wait for its lock as emulated', async () => {
  const dir = makeFolder();
  await serve(dir, 1, { emulatedInterconnectMs });
  const other = await serve(dir, 2, { emulatedInterconnectMs });
  const session = other.openSession();
  const startedMs = performance.now();
  await session.xa!.start(xidOf('a'), { coupling: 'tight', home: 1 });
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(emulatedInterconnectMs - 1);
  const lock = other.waits.snapshot().find(({ event }) => event === 'global transaction lock');
  expect(lock).toMatchObject({ emulated: true, waits: 1 });
});

it('delays calls that are passed on to the instance of a branch, and marks the wait as emulated', async () => {
  const dir = makeFolder();
  const owner = await serve(dir, 1, { emulatedInterconnectMs });
  const other = await serve(dir, 2, { emulatedInterconnectMs });
  const session = owner.openSession();
  await session.xa!.start(xidOf('a'));
  await session.xa!.end(xidOf('a'));
  const startedMs = performance.now();
  expect(await other.xa.prepare(xidOf('a'), { instance: 1 })).toBe('read-only');
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(emulatedInterconnectMs - 1);
  const call = other.waits.snapshot().find(({ event }) => event === 'passed-on call');
  expect(call).toMatchObject({ emulated: true, waits: 1 });
});

it.each([-1, 1_001])('of %s ms is refused', async (ms) => {
  await expect(openTestInstance({ emulatedInterconnectMs: ms })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
  });
});
