/** What a program can have many of: each row makes so many, uses them, and lets them go. */
import { limits } from '../../src/api/limits.ts';
import {
  type ClientSession,
  connect,
  type Instance,
  type Message,
  type NewMessage,
  type RemoteInstance,
  type ServedInstance,
  type Session,
} from '../../src/index.ts';
import { xaOf } from '../xa/support.ts';
import { xidOf } from '../xa/xid-of.ts';

export interface Parts {
  instance: Instance;
  /** Of the same instance. */
  client: RemoteInstance;
  served: ServedInstance;
}

export interface Row {
  thing: string;
  /** Resolves once none of them is left. Rejects if one of them was not as it should be. */
  cycle(count: number, parts: Parts): Promise<unknown>;
  /** By default 100 and 1,000. Fewer where each costs a write to a file. */
  counts?: [few: number, many: number];
  /**
   * Set where the work for each is known to grow. A change of the catalog reads all of it, at most 1,000 queues and 1,024 subscribers
   * of a topic, since one checksum is over all of its rows.
   */
  readsAll?: boolean;
  /** Bytes on the heap that may be left for each. A thing that is forgotten somewhere leaves hundreds. */
  leftBytesMax: number;
}

/** Queues that the rows share. */
export const queues = [
  { name: 'sharded', durability: 'relaxed' },
  { name: 'unsharded', kind: 'unsharded', durability: 'relaxed' },
  { name: 'grouped', kind: 'unsharded-grouped', durability: 'relaxed' },
  { name: 'immediate', durability: 'memory', visibility: 'immediate' },
  { name: 'topic', type: 'topic', durability: 'relaxed' },
  { name: 'unsharded-topic', type: 'topic', kind: 'unsharded', durability: 'relaxed' },
  {
    name: 'temporary',
    type: 'topic',
    kind: 'unsharded',
    durability: 'relaxed',
    temporarySubscribers: true,
  },
  {
    name: 'grouped-temporary',
    type: 'topic',
    kind: 'unsharded-grouped',
    durability: 'relaxed',
    temporarySubscribers: true,
  },
] as const;

/**
 * The outcome of a remote session's last transaction stays in memory until the row of the file that has it is removed, at the 96th
 * group after it.
 */
const withOutcomes = { leftBytesMax: 700 };

let made = 0;
/** No name is used again. */
const newName = () => {
  made += 1;
  return `n${made}`;
};

const make = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => one(i));

function assertCount(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} ${what} instead of ${expected}`);
}

/** Enqueues so many messages in one transaction. */
async function fill(session: Session, queue: string, count: number, message?: (index: number) => NewMessage) {
  for (let i = 0; i < count; i += 1) session.enqueue(queue, message?.(i) ?? { payload: 'x' });
  await session.commit();
}

/** Consumes so many messages in one transaction; waits for them. */
async function drain(session: Session, queue: string, count: number): Promise<Message[]> {
  const messages: Message[] = [];
  while (messages.length < count) {
    const more = await session.dequeue(queue, { max: count - messages.length, waitMs: 30_000 });
    if (more.length === 0) break;
    messages.push(...more);
  }
  await session.commit();
  assertCount('messages', messages.length, count);
  return messages;
}

const closeAll = (all: readonly { close(): Promise<void> }[]) => Promise.all(all.map((one) => one.close()));

async function withSession(of: { openSession(): Session }, work: (session: Session) => Promise<unknown>) {
  const session = of.openSession();
  await work(session);
  await session.close();
}

/** Each session enqueues, dequeues and commits. */
async function useSessions(sessions: readonly Session[], queue: string): Promise<void> {
  for (const session of sessions) session.enqueue(queue, { payload: 'x' });
  await Promise.all(sessions.map((session) => session.commit()));
  const got = await Promise.all(sessions.map((session) => session.dequeue(queue, { waitMs: 30_000 })));
  assertCount('messages', got.flat().length, sessions.length);
  await Promise.all(sessions.map((session) => session.commit()));
  await closeAll(sessions);
}

interface Place {
  of: Instance | RemoteInstance;
  queue: string;
}

const embedded = (queue: string) => ({ queue, place: 'instance' }) as const;
const remote = (queue: string) => ({ queue, place: 'client' }) as const;

function onEach(
  thing: string,
  places: readonly ReturnType<typeof embedded | typeof remote>[],
  cycle: (count: number, place: Place) => Promise<unknown>,
  ofRow: Omit<Partial<Row>, 'cycle'> = {},
): Row[] {
  return places.map(({ queue, place }) => ({
    leftBytesMax: 300,
    thing: `${thing}, ${queue}, ${place === 'client' ? 'remote' : 'embedded'}`,
    cycle: (count, parts) => cycle(count, { of: parts[place], queue }),
    ...ofRow,
  }));
}

const eachKind = [embedded('sharded'), embedded('unsharded'), embedded('grouped')];

export const rows: Row[] = [
  ...onEach('sessions', eachKind, (count, { of, queue }) =>
    useSessions(
      make(count, () => of.openSession()),
      queue,
    ),
  ),
  ...onEach(
    'sessions',
    [remote('sharded')],
    (count, { of, queue }) =>
      useSessions(
        make(count, () => of.openSession()),
        queue,
      ),
    withOutcomes,
  ),
  {
    thing: 'connections',
    counts: [20, 100],
    leftBytesMax: 10_000,
    cycle: async (count, { served }) => {
      const before = served.connections;
      const clients = await Promise.all(make(count, () => connect({ path: served.path })));
      await useSessions(
        clients.map((client) => client.openSession()),
        'sharded',
      );
      await closeAll(clients);
      while (served.connections > before) await new Promise((resolve) => setImmediate(resolve));
    },
  },
  {
    thing: 'producers of a session',
    leftBytesMax: 300,
    cycle: async (count, { client }) => {
      const session = client.openSession();
      const oneWay = { windowMessages: 100 };
      const producers = make(count, () => session.openProducer('immediate', { oneWay }));
      for (const payload of ['a', 'b']) await Promise.all(producers.map((one) => one.send({ payload })));
      await closeAll(producers);
      const got = await session.dequeueNow('immediate', { max: 2 * count });
      assertCount('messages', got.length, 2 * count);
      await session.close();
    },
  },
  {
    thing: 'consumers, fifty of a session',
    leftBytesMax: 300,
    cycle: async (count, { client }) => {
      const sessions: ClientSession[] = make(count / 50, () => client.openSession());
      const opening = make(count, (i) => sessions[i % sessions.length]!.openConsumer('sharded'));
      const consumers = await Promise.all(opening);
      await withSession(client, (session) => fill(session, 'sharded', count));
      const got = await Promise.all(consumers.map((consumer) => consumer.receive({ waitMs: 30_000 })));
      assertCount('messages', got.filter((message) => message !== undefined).length, count);
      await closeAll(consumers);
      await closeAll(sessions);
    },
  },
  ...onEach(
    'waits, half of them in vain',
    [...eachKind, remote('sharded')],
    async (count, { of, queue }) => {
      const sessions = make(count, () => of.openSession());
      const ended = new AbortController();
      const waits = sessions.map((session) =>
        session.dequeue(queue, { waitMs: 60_000, signal: ended.signal }),
      );
      const served = Promise.all(waits.slice(0, count / 2));
      await withSession(of, (session) => fill(session, queue, count / 2));
      await served;
      ended.abort();
      assertCount('messages', (await Promise.all(waits)).flat().length, count / 2);
      await Promise.all(sessions.map((session) => session.commit()));
      await closeAll(sessions);
    },
    withOutcomes,
  ),
  ...onEach(
    'holds that expire together',
    [embedded('sharded'), embedded('unsharded')],
    (count, { of, queue }) =>
      withSession(of, async (session) => {
        await fill(session, queue, count);
        const held = await session.receive(queue, { max: count, holdMs: limits.holdMsMin });
        assertCount('messages', held.length, count);
        await drain(session, queue, count);
      }),
  ),
  ...onEach('holds that expire one after the other', [embedded('sharded')], (count, { of, queue }) =>
    withSession(of, async (session) => {
      await fill(session, queue, count);
      // Each expires in a millisecond of its own.
      for (let i = 0; i < count; i += 1) await session.receive(queue, { holdMs: 200 + i });
      await drain(session, queue, count);
    }),
  ),
  ...onEach(
    'holds that end with their sessions',
    [embedded('sharded'), embedded('unsharded')],
    (count, { of, queue }) =>
      withSession(of, async (session) => {
        await fill(session, queue, count);
        const holders = make(count, () => of.openSession());
        await Promise.all(holders.map((holder) => holder.dequeue(queue)));
        await closeAll(holders);
        await drain(session, queue, count);
      }),
  ),
  ...onEach('receipts of one call', [embedded('unsharded'), remote('sharded')], (count, { of, queue }) =>
    withSession(of, async (session) => {
      await fill(session, queue, count);
      const receive = async () =>
        (await session.receive(queue, { max: count })).map(({ receipt }) => receipt);
      const receipts = await receive();
      await session.extend(queue, receipts, 60_000);
      await session.release(queue, receipts);
      session.acknowledge(queue, await receive());
      await session.commit();
    }),
  ),
  ...onEach('delayed messages', [embedded('sharded')], (count, { of, queue }) =>
    withSession(of, async (session) => {
      await fill(session, queue, count, (i) => ({ payload: 'x', delayMs: 1 + (i % 20) }));
      await drain(session, queue, count);
    }),
  ),
  ...onEach(
    'messages with keys and all properties, of one transaction',
    [embedded('unsharded'), remote('sharded')],
    (count, { of, queue }) =>
      withSession(of, async (session) => {
        const properties = Object.fromEntries(make(limits.propertiesMax, (i) => [`p${i}`, 'x']));
        const key = (i: number) => (queue === 'sharded' ? { groupKey: `g${i}` } : {});
        await fill(session, queue, count, (i) => ({
          payload: 'x',
          correlationId: `c${i}`,
          properties,
          ...key(i),
        }));
        const last = (await drain(session, queue, count)).at(-1);
        assertCount('properties', Object.keys(last?.properties ?? {}).length, limits.propertiesMax);
      }),
  ),
  ...onEach(
    'idempotency keys, each used twice',
    [embedded('sharded'), remote('sharded')],
    async (count, { of, queue }) => {
      const keys = make(count, newName);
      for (const isReplay of [false, true])
        await Promise.all(
          keys.map((idempotencyKey) =>
            withSession(of, async (session) => {
              session.enqueue(queue, { payload: 'x' });
              const { replayed } = await session.commit({ idempotencyKey });
              if (replayed !== isReplay) throw new Error(`replayed: ${replayed}`);
            }),
          ),
        );
      await withSession(of, (session) => drain(session, queue, count));
    },
    withOutcomes,
  ),
  ...onEach(
    'temporary subscribers',
    [embedded('temporary'), embedded('grouped-temporary')],
    (count, { of, queue }) =>
      withSession(of, async (session) => {
        const names = make(count, newName);
        await fill(session, queue, count, (i) => ({ payload: 'x', recipients: [names[i]!] }));
        for (const subscriber of names)
          assertCount('messages', (await session.dequeue(queue, { subscriber })).length, 1);
        await session.commit();
      }),
    { counts: [50, 500] },
  ),
  ...onEach(
    'durable subscribers',
    [embedded('topic'), embedded('unsharded-topic')],
    async (count, { of, queue }) => {
      const names = make(count, newName);
      for (const name of names) await of.subscribe(queue, { name });
      await withSession(of, async (session) => {
        await fill(session, queue, 1);
        for (const subscriber of names)
          assertCount('messages', (await session.dequeue(queue, { subscriber })).length, 1);
        await session.commit();
      });
      for (const name of names) await of.unsubscribe(queue, name);
    },
    { counts: [20, 100], readsAll: true, leftBytesMax: 2_000 },
  ),
  ...(['sharded', 'unsharded', 'unsharded-grouped'] as const).map(
    (kind): Row => ({
      thing: `queues that are dropped, ${kind}`,
      counts: [10, 60],
      readsAll: true,
      leftBytesMax: 2_000,
      cycle: async (count, { instance }) => {
        const names = make(count, newName);
        for (const name of names) await instance.createQueue({ name, kind, durability: 'relaxed' });
        await withSession(instance, async (session) => {
          for (const name of names) session.enqueue(name, { payload: 'x' });
          await session.commit();
          for (const name of names) assertCount('messages', (await session.dequeue(name)).length, 1);
          await session.commit();
        });
        for (const name of names) await instance.dropQueue(name);
      },
    }),
  ),
  ...onEach(
    'prepared branches',
    [embedded('sharded'), remote('sharded')],
    async (count, { of, queue }) => {
      const all = make(count, () => ({ session: of.openSession(), xid: xidOf(newName()) }));
      await Promise.all(
        all.map(async ({ session, xid }) => {
          await xaOf(session).start(xid);
          session.enqueue(queue, { payload: 'x' });
          await xaOf(session).end(xid);
          await xaOf(session).prepare(xid);
        }),
      );
      assertCount('branches', (await xaOf(all[0]!.session).recover()).length, count);
      await Promise.all(
        all.map(({ session, xid }, i) =>
          i % 2 === 0 ? xaOf(session).commit(xid) : xaOf(session).rollback(xid),
        ),
      );
      await closeAll(all.map(({ session }) => session));
      await withSession(of, (session) => drain(session, queue, count / 2));
    },
    { counts: [100, 900] },
  ),
  ...onEach(
    'streamed payloads',
    [embedded('sharded'), remote('sharded')],
    (count, { of, queue }) =>
      withSession(of, async (session) => {
        async function* payload() {
          yield Buffer.alloc(limits.chunkBytes);
          yield Buffer.alloc(1);
        }
        for (let i = 0; i < count; i += 1) await session.enqueueStream(queue, { payload: payload() });
        await session.commit();
        for (const message of await session.dequeue(queue, { max: count })) {
          let bytes = 0;
          for await (const piece of message.payloadStream()) bytes += piece.length;
          assertCount('bytes', bytes, limits.chunkBytes + 1);
        }
        await session.commit();
      }),
    { counts: [5, 25], leftBytesMax: 5_000 },
  ),
];
