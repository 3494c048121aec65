/** The shared table of subscribers: its limit, temporary subscribers, and that its counts need the mutex. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addSubscriber } from '../../src/contention/add-subscriber.ts';
import { QueueMemory, sessionStates } from '../../src/contention/queue-memory.ts';
import { noThreadClock } from '../../src/contention/session-book.ts';
import { joinSharedMemory } from '../../src/contention/session-parts.ts';
import { ThreadSessionClient } from '../../src/contention/thread-session-client.ts';
import {
  openThreadSession,
  QueueError,
  type RemoteInstance,
  type SharedQueue,
  shareQueue,
  type ThreadSession,
} from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import type { LocalInstance } from '../../src/runtime/local-instance.ts';
import { openTestInstance } from '../folder.ts';
import { shareTest, shareTopic } from './shared.ts';
import type { CountWork } from './unguarded-thread.ts';

const code = (value: string) => expect.objectContaining({ code: value });
const now = { visibility: 'immediate' } as const;

/** Opens a session on the thread of the test, which must not block. */
async function openSession(shared: SharedQueue): Promise<ThreadSession> {
  const session = await openThreadSession(shared.handle);
  onTestFinished(() => session.close());
  return session;
}

/** What a session uses of the shared memory. */
function partsOf({ handle }: SharedQueue, session: number) {
  const memory = new QueueMemory(handle, handle);
  const { machineClock: clock, thread } = nodePorts;
  return joinSharedMemory(handle, { memory, session, clock, thread, threadClock: noThreadClock });
}

const namesOf = (shared: SharedQueue) => shared.statistics().subscribers.map(({ name }) => name);

describe('the shared table of subscribers', () => {
  it('refuses a subscriber past its limit, as ORA-24067 does', async () => {
    const { shared, instance } = await shareTopic(['a', 'b'], { subscribersMax: 3 });
    await shared.subscribe({ name: 'c' });
    await expect(shared.subscribe({ name: 'd' })).rejects.toMatchObject({
      code: 'SUBSCRIBERS_FULL',
      details: { subscribersMax: 3, oracle: 'ORA-24067' },
    });
    expect(instance.subscribers('news').map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    const session = await openSession(shared);
    const message = { payload: 'x', recipients: ['e'] };
    await expect(session.enqueue(message, now)).rejects.toThrow(code('SUBSCRIBERS_FULL'));
  });

  it('makes unknown recipients temporary subscribers, and keeps as many as it has slots', async () => {
    const { shared, instance } = await shareTopic(['durable'], { subscribersMax: 5 });
    const session = await openSession(shared);
    for (let each = 1; each <= 7; each += 1) {
      await session.enqueue({ payload: `${each}`, recipients: [`t${each}`] }, now);
      expect(await session.listen([`t${each}`], 0)).toBe(`t${each}`);
      expect((await session.dequeue(`t${each}`, now))?.payload.toString()).toBe(`${each}`);
    }
    expect(shared.statistics()).toMatchObject({ temporaryMade: 7 });
    expect(namesOf(shared).sort()).toEqual(['durable', 't4', 't5', 't6', 't7']);
    expect(
      instance
        .subscribers('news')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(namesOf(shared).sort());
    await expect(session.listen(['t1'], 0)).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
  });

  it('does not reuse the slot of a temporary subscriber that has messages', async () => {
    const { shared } = await shareTopic([], { subscribersMax: 2 });
    const session = await openSession(shared);
    await session.enqueue({ payload: 'kept', recipients: ['old'] }, now);
    for (const name of ['x', 'y']) {
      await session.enqueue({ payload: name, recipients: [name] }, now);
      await session.dequeue(name, now);
    }
    expect(namesOf(shared).sort()).toEqual(['old', 'y']);
    expect((await session.dequeue('old', now))?.payload.toString()).toBe('kept');
  });

  it('counts for each recipient the messages from before the queue was shared', async () => {
    const { instance, shared: before } = await shareTopic(['a', 'b']);
    const first = await openSession(before);
    for (const recipients of [['a'], ['a', 'b'], ['a']])
      await first.enqueue({ payload: 'x', recipients }, now);
    await first.enqueue({ payload: 'to all' }, now);
    await first.dequeue('a', now);
    const again = await shareTest(instance);
    const expected = [
      { name: 'a', temporary: false, ready: 3 },
      { name: 'b', temporary: false, ready: 2 },
    ];
    expect(before.statistics().subscribers).toEqual(expected);
    expect(again.statistics().subscribers).toEqual(expected);
  });

  it('ends its sessions when it is closed', async () => {
    const { shared } = await shareTopic(['a']);
    const session = await openSession(shared);
    await shared.close();
    await expect(session.listen(['a'], 1_000)).rejects.toThrow(code('INSTANCE_CLOSED'));
    await expect(session.dequeue('a')).rejects.toThrow(code('INSTANCE_CLOSED'));
    await session.close();
    await expect(session.dequeue('a')).rejects.toThrow(code('SESSION_CLOSED'));
    await expect(openThreadSession(shared.handle)).rejects.toThrow(code('INSTANCE_CLOSED'));
  });

  it('follows its topic no longer if it cannot be opened', async () => {
    const instance = (await openTestInstance()) as LocalInstance;
    await instance.createQueue({ name: 'news', type: 'topic', durability: 'memory' });
    for (const name of ['a', 'b']) await instance.subscribe('news', { name });
    const follow = instance.followTopic.bind(instance);
    let followers = 0;
    instance.followTopic = (...topic) => {
      const end = follow(...topic);
      followers += 1;
      return () => {
        followers -= 1;
        end();
      };
    };
    await expect(shareQueue(instance, { queue: 'news', subscribersMax: 1 })).rejects.toThrow(
      code('SUBSCRIBERS_FULL'),
    );
    expect(followers).toBe(0);
  });

  it('subscribes a temporary subscriber again if another session evicts it meanwhile', async () => {
    const { shared } = await shareTopic([], { subscribersMax: 2 });
    const [evictor, adder] = [partsOf(shared, 1).object, partsOf(shared, 2).object];
    const topic = new Set<string>();
    const added = (name: string) => ({
      name,
      temporary: true,
      subscribe: async () => void topic.add(name),
      unsubscribe: async (evicted: string) => void topic.delete(evicted),
    });
    for (const name of ['old', 'older']) await addSubscriber(evictor, added(name));
    // Its call to the instance is overtaken by three of the other session.
    const arrives = Promise.withResolvers<void>();
    const evicting = addSubscriber(evictor, {
      ...added('new'),
      unsubscribe: (evicted) => arrives.promise.then(() => void topic.delete(evicted)),
    });
    let subscribes = 0;
    await addSubscriber(adder, {
      ...added('old'),
      subscribe: async () => {
        topic.add('old');
        subscribes += 1;
        if (subscribes === 3) arrives.resolve();
      },
    });
    arrives.resolve();
    await evicting;
    expect([...topic].sort()).toEqual(['new', 'old']);
    expect(namesOf(shared).sort()).toEqual(['new', 'old']);
  });

  it('counts a message once for a recipient that is named twice', async () => {
    const { shared } = await shareTopic(['a']);
    const session = await openSession(shared);
    await session.enqueue({ payload: 'x', recipients: ['a', 'a'] }, now);
    expect(shared.statistics().subscribers).toEqual([{ name: 'a', temporary: false, ready: 1 }]);
    expect((await session.dequeue('a', now))?.payload.toString()).toBe('x');
    expect(await session.dequeue('a', now)).toBeUndefined();
    await expect(session.listen([], 0)).rejects.toThrow(code('OPTIONS_INVALID'));
  });

  it('counts the messages that a failed commit had dequeued as ready again', async () => {
    const { shared, instance } = await shareTopic(['a', 'b']);
    const session = await openSession(shared);
    await session.enqueue({ payload: 'x', recipients: ['a'] }, now);
    await session.dequeue('a');
    await session.enqueue({ payload: 'y', recipients: ['b'] });
    await instance.stopQueue('news', { enqueue: true });
    await expect(session.commit()).rejects.toThrow(code('ENQUEUE_STOPPED'));
    expect(shared.statistics().subscribers.map(({ ready }) => ready)).toEqual([1, 0]);
    expect((await session.dequeue('a', now))?.payload.toString()).toBe('x');
  });

  it('has the place of a session again that was closed without its instance', async () => {
    const { shared } = await shareTopic(['a'], { sessionsMax: 1 });
    const parts = partsOf(shared, 1);
    parts.memory.store(parts.memory.session(1, 'state'), sessionStates.indexOf('open'));
    let isClosed = false;
    const unreachable = new QueueError('INSTANCE_UNREACHABLE');
    const client = {
      openSession: () => ({ rollback: () => Promise.reject(unreachable) }),
      close: async () => {
        isClosed = true;
      },
    } as unknown as RemoteInstance;
    const { machineClock: clock, thread } = nodePorts;
    const session = new ThreadSessionClient({ ...parts, queue: 'news', client, clock, thread });
    await expect(session.close()).rejects.toBe(unreachable);
    expect(isClosed).toBe(true);
    expect((await openSession(shared)).id).toBe(1);
  });

  it('limits the number of sessions, and allows a session one call at a time', async () => {
    const { shared } = await shareTopic(['a'], { sessionsMax: 1 });
    const session = await openSession(shared);
    await expect(openThreadSession(shared.handle)).rejects.toThrow(code('SESSIONS_FULL'));
    const busy = session.dequeue('a');
    await expect(session.dequeue('a')).rejects.toMatchObject({
      code: 'SESSION_BUSY',
      details: { session: session.id },
    });
    await busy;
    await session.close();
    const next = await openSession(shared);
    expect(next.id).toBe(1);
  });
});

async function countOnThreads(shared: SharedQueue, work: Pick<CountWork, 'times' | 'isGuarded'>) {
  const begun = new SharedArrayBuffer(4);
  await Promise.all(
    [1, 2].map(async (session) => {
      const workerData: CountWork = { handle: shared.handle, session, begun, ...work };
      const worker = new Worker(new URL('./unguarded-thread.ts', import.meta.url), { workerData });
      onTestFinished(async () => void (await worker.terminate()));
      await once(worker, 'message');
    }),
  );
  const { subscribers, pinsHeld } = shared.statistics();
  return { ready: subscribers[0]!.ready, pinsHeld };
}

describe('the mutex of the metadata object', () => {
  it.each([1, 2])('keeps the ready counts right with %d copies', async (copies) => {
    const { shared } = await shareTopic(['KSUB_1'], { copies });
    const times = 5_000;
    expect(await countOnThreads(shared, { times, isGuarded: true })).toEqual({
      ready: 2 * times,
      pinsHeld: 0,
    });
  });

  it('is needed: without it changes of counts are lost', async () => {
    const times = 200_000;
    let right = true;
    for (let round = 1; round <= 50 && right; round += 1) {
      const { shared } = await shareTopic(['KSUB_1']);
      const { ready, pinsHeld } = await countOnThreads(shared, { times: times * round, isGuarded: false });
      right = ready === 2 * times * round && pinsHeld === 0;
    }
    expect(right).toBe(false);
  });
});
