/** The cost of a transaction over a connection, counted in writes, frames, copies of payloads and promises. */
import { createHook } from 'node:async_hooks';
import { Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { Instance, RemoteInstance, Session } from '../../src/index.ts';
import { replies } from '../../src/wire/protocol.ts';
import { openTestClient, openTestInstance } from '../folder.ts';
import { observeCalls } from '../observe-calls.ts';
import { framesOf } from './frames-fixture.ts';

async function setUp(): Promise<{ instance: Instance; client: RemoteInstance }> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q' });
  return { instance, client: await openTestClient(instance) };
}

/** Records what both ends of the connections write from now on. */
function watchWrites() {
  let chunks: { isServers: boolean; chunk: Buffer }[] = [];
  const end = observeCalls(Socket.prototype, 'write', ({ of, args: [chunk] }) => {
    const isServers = (of as { server?: unknown }).server instanceof Object;
    chunks.push({ isServers, chunk: chunk as Buffer });
  });
  onTestFinished(end);
  const chunksOf = (ofServer: boolean) =>
    chunks.flatMap(({ isServers, chunk }) => (isServers === ofServer ? [chunk] : []));
  return {
    client: () => chunksOf(false),
    server: () => chunksOf(true),
    clear: () => {
      chunks = [];
    },
  };
}

function stage(session: Session, count: number, payload = Buffer.alloc(100)): void {
  for (let i = 0; i < count; i += 1) session.enqueue('q', { payload });
}

it('commits of one turn leave in one write, and the answers of a group in one write of one frame', async () => {
  const { instance, client } = await setUp();
  const sessions = Array.from({ length: 120 }, () => client.openSession());
  const writes = watchWrites();
  const groupsBefore = instance.stats().groups;
  await Promise.all(
    sessions.map((session) => {
      stage(session, 10); // The sum exceeds the operations that embedded callers may resume in one turn.
      return session.commit();
    }),
  );
  expect(writes.client()).toHaveLength(1);
  const groups = instance.stats().groups - groupsBefore;
  expect(writes.server().length).toBeLessThanOrEqual(groups);
  const frames = framesOf(Buffer.concat(writes.server()));
  expect(frames.length).toBeLessThanOrEqual(groups);
  expect(frames.every(({ kind }) => kind === replies.committed)).toBe(true);

  writes.clear();
  await Promise.all(sessions.map((session) => session.dequeue('q', { max: 10 })));
  expect([writes.client().length, writes.server().length]).toEqual([1, 1]);
});

/** Bytes that `work` copies on this thread between buffers. */
async function copiedBy(work: () => Promise<unknown>): Promise<number> {
  let copied = 0;
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array;
  const ends = [
    observeCalls(Buffer.prototype, 'copy', ({ result: bytes }) => {
      copied += bytes as number;
    }),
    observeCalls(typedArray, 'set', ({ args: [source] }) => {
      copied += source.length;
    }),
  ];
  await work();
  for (const end of ends) end();
  return copied;
}

it.each([
  { payloadBytes: 1_000, count: 10 },
  { payloadBytes: 1_000, count: 1_000 },
  { payloadBytes: 500_000, count: 3 },
])(
  'copies $count payloads of $payloadBytes bytes twice on the way in, and twice on the way out',
  async (of) => {
    const { client } = await setUp();
    const [enqueuer, dequeuer] = [client.openSession(), client.openSession()];
    const payload = Buffer.alloc(of.payloadBytes, 7);
    const transaction = async () => {
      stage(enqueuer, of.count, payload);
      await enqueuer.commit();
    };
    await transaction(); // A first transaction lets the session learn how large its transactions are.
    const bytes = of.payloadBytes * of.count;
    const overhead = 8 * 1024 + of.count * 64;
    // The third copy is the one into the block that the group writes.
    expect(await copiedBy(transaction)).toBeLessThan(3 * bytes + overhead);
    for (const _ of ['first transaction', 'second']) {
      const out = await copiedBy(async () => {
        for (let left = of.count; left > 0; ) {
          const messages = await dequeuer.dequeue('q', { max: left });
          for (const message of messages) expect(message.payload.length).toBe(of.payloadBytes);
          left -= messages.length;
        }
      });
      expect(out).toBeLessThan(2 * bytes + overhead);
      await dequeuer.commit();
    }
  },
);

it('creates no promise per message', async () => {
  const { client } = await setUp();
  const session = client.openSession();
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises += 1;
    },
  });
  onTestFinished(() => void hook.disable());
  const promisesOf = async (messages: number) => {
    stage(session, messages);
    hook.enable();
    promises = 0;
    await session.commit();
    const got = await session.dequeue('q', { max: messages });
    await session.commit();
    hook.disable();
    expect(got).toHaveLength(messages);
    return promises;
  };
  await promisesOf(1);
  expect(await promisesOf(1_000)).toBeLessThan((await promisesOf(1)) + 100); // Each read of the socket creates a few promises.
});
