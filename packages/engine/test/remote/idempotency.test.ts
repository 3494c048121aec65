/** Idempotency keys over a socket and over a cluster: a commit with a key is sent to the instance that knows the keys. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClusterClient, connectCluster, type Session, startCluster } from '../../src/index.ts';
import { makeFolder, openTestClient, openTestInstance } from '../folder.ts';
import { bytesOf } from '../streams/payloads.ts';
import { code, connectTo, serve } from './serving.ts';
import { makeUnreliableLink } from './unreliable-link.ts';

async function commitOnce(session: Session, idempotencyKey: string, ...payloads: string[]) {
  for (const payload of payloads) session.enqueue('q', { payload });
  return session.commit({ idempotencyKey });
}

describe('a remote session', () => {
  it('commits once under a key, also when embedded sessions use the same key', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const client = await openTestClient(instance);
    const first = await commitOnce(client.openSession(), 'k', 'a', 'b');
    expect(first).toMatchObject({ replayed: false });
    for (const session of [client.openSession(), instance.openSession()]) {
      const again = await commitOnce(session, 'k', 'a', 'b');
      expect(again).toMatchObject({ replayed: true, results: [] });
      expect(again.ids).toEqual(first.ids);
      await expect(commitOnce(session, 'k', 'a')).rejects.toThrow(code('IDEMPOTENCY_KEY_REUSED'));
      expect((await session.commit()).ids).toEqual([]);
    }
    expect(instance.queue('q').enqueued).toBe(2);
  });

  it('compares statements, values and messages with all fields as embedded sessions do', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', priorities: true });
    const client = await openTestClient(instance);
    const commit = (session: Session) => {
      session.execute('SELECT ?, ?, ?, ?', [1, 'a', Buffer.from('b'), null]);
      session.execute('SELECT :x, :y', { x: 0.5, y: 2n ** 60n });
      session.enqueue('q', { payload: 'a', priority: 3, delayMs: 9_999, properties: { b: '1', a: '2' } });
      session.enqueue('q', { payload: 'b', correlationId: 'c', groupKey: 'g' });
      return session.commit({ idempotencyKey: 'k' });
    };
    const first = await commit(client.openSession());
    expect(first.results).toHaveLength(2);
    for (const session of [instance.openSession(), client.openSession()]) {
      const again = await commit(session);
      expect(again.replayed).toBe(true);
      expect(again.ids).toEqual(first.ids);
      expect(() => again.results).toThrow(code('SQL_RESULTS_LOST'));
    }
  });

  it('refuses a malformed key', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const session = (await openTestClient(instance)).openSession();
    session.enqueue('q', { payload: 'a' });
    await expect(session.commit({ idempotencyKey: 'ä' })).rejects.toThrow(code('OPTIONS_INVALID'));
  });

  it('compares streamed payloads as embedded sessions do', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const client = await openTestClient(instance);
    const commit = async (session: Session, seed: number) => {
      session.enqueue('q', { payload: 'a' });
      await session.enqueueStream('q', { payload: bytesOf(seed, 600_000), correlationId: 'c' });
      await session.enqueueStream('q', { payload: bytesOf(seed, 100) });
      return session.commit({ idempotencyKey: 'k' });
    };
    const first = await commit(client.openSession(), 1);
    expect(first.ids).toHaveLength(3);
    for (const session of [instance.openSession(), client.openSession()]) {
      const again = await commit(session, 1);
      expect(again.replayed).toBe(true);
      expect(again.ids).toEqual(first.ids);
      await expect(commit(session, 2)).rejects.toThrow(code('IDEMPOTENCY_KEY_REUSED'));
    }
    expect(instance.queue('q').enqueued).toBe(3);
  });

  it('whose answer was lost can have its commit repeated by another client', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const link = await makeUnreliableLink((await serve(instance)).path);
    const client = await connectTo(link.path, 200);
    const session = client.openSession();
    await commitOnce(session, 'before', 'a');
    link.loseAnswers();
    const lost = commitOnce(session, 'k', 'b');
    await link.lost();
    const other = await connectTo(link.path);
    expect(await commitOnce(other.openSession(), 'k', 'b')).toMatchObject({ replayed: true });
    link.cut();
    expect((await lost).replayed).toBe(false); // The session learns over a new connection that its own attempt was committed.
    expect(instance.queue('q').enqueued).toBe(2);
  });
});

async function start(instances: number) {
  const dir = makeFolder();
  const cluster = await startCluster({ dir, instances });
  onTestFinished(() => cluster.close());
  const newClient = () => {
    const client = connectCluster({ dir, connectMs: 20_000 });
    onTestFinished(() => client.close());
    return client;
  };
  const client = newClient();
  await client.createQueue({ name: 'q' });
  return { cluster, client, newClient };
}

const idOf = async (client: ClusterClient, key: string) => {
  const { ids, replayed } = await commitOnce(client.openSession(), key, key);
  return { id: ids[0]!, replayed };
};

describe('sessions over a cluster', () => {
  it('find a key from any instance, while instances are added, killed and removed', {
    timeout: 120_000,
  }, async () => {
    const { cluster, client, newClient } = await start(2);
    const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    const ids = new Map<string, string>();
    for (const key of keys) {
      const { id, replayed } = await idOf(client, key);
      expect(replayed).toBe(false);
      ids.set(key, id);
    }
    const expectAllKnown = async () => {
      const other = newClient();
      for (const key of keys) expect(await idOf(other, key)).toEqual({ id: ids.get(key), replayed: true });
    };
    await expectAllKnown();
    await cluster.resize(3);
    await expectAllKnown();
    cluster.kill(1);
    await expectAllKnown();
    await cluster.start(1);
    await cluster.resize(1);
    await expectAllKnown();
    expect((await client.queue('q')).ready).toBe(keys.length);
  });

  it('cannot have the key instance removed from their cluster', { timeout: 60_000 }, async () => {
    const { cluster, client } = await start(2);
    await idOf(client, 'k');
    await expect(cluster.remove(1)).rejects.toThrow(code('INSTANCE_IS_HOME'));
  });

  it('send a transaction with receipts to the instance of the receipts, which then knows its key', {
    timeout: 60_000,
  }, async () => {
    const { client, newClient } = await start(2);
    const sessions = Array.from({ length: 4 }, () => client.openSession());
    for (const session of sessions) {
      session.enqueue('q', { payload: 'in' });
      await session.commit();
    }
    const received = (
      await Promise.all(sessions.map((session) => session.receive('q', { waitMs: 5_000 })))
    ).flat();
    expect(received).toHaveLength(4);
    for (const [index, { receipt }] of received.entries()) {
      const move = (session: Session) => {
        session.acknowledge('q', [receipt]);
        session.enqueue('q', { payload: 'out' });
        return session.commit({ idempotencyKey: `move ${index}` });
      };
      const moved = await move(client.openSession());
      const again = await move(newClient().openSession());
      expect(again.replayed).toBe(true);
      expect(again.ids).toEqual(moved.ids);
    }
    expect(await client.queue('q')).toMatchObject({ ready: 4, held: 0 });
  });

  it('upload a streamed payload to the instance that knows its key, and refuse one without the right key', {
    timeout: 60_000,
  }, async () => {
    const { cluster, client, newClient } = await start(2);
    const put = async (session: Session, seed: number, bytes: number, idempotencyKey?: string) => {
      session.enqueue('q', { payload: 'staged before' });
      await session.enqueueStream('q', { payload: bytesOf(seed, bytes), idempotencyKey });
      session.enqueue('q', { payload: 'staged behind' });
      return session.commit({ idempotencyKey: `k${seed}` });
    };
    const sizes = [600_000, 100, 300_000, 100]; // The payloads are stored in chunks and in the record in turn.
    const committed: string[][] = [];
    for (const [seed, bytes] of sizes.entries()) {
      const { ids, replayed } = await put(client.openSession(), seed, bytes, `k${seed}`);
      expect(replayed).toBe(false);
      expect(ids).toHaveLength(3);
      committed.push(ids);
    }
    cluster.kill(1); // The process of the other instance serves both meanwhile.
    for (const [seed, bytes] of sizes.entries()) {
      const other = newClient().openSession();
      const again = await put(other, seed, bytes, `k${seed}`);
      expect(again).toMatchObject({ replayed: true });
      expect(again.ids).toEqual(committed[seed]);
      for (const named of [undefined, 'another']) {
        await expect(put(other, seed, bytes, named)).rejects.toThrow(code('IDEMPOTENCY_KEY_UNSUPPORTED'));
        expect((await other.commit()).ids).toEqual([]);
      }
    }
    expect((await client.queue('q')).ready).toBe(3 * sizes.length);
  });

  it('have an empty transaction after a commit with a key', { timeout: 60_000 }, async () => {
    const { client } = await start(2);
    const sessions = Array.from({ length: 4 }, () => client.openSession());
    for (const [index, session] of sessions.entries()) {
      await commitOnce(session, `k${index}`, 'keyed');
      expect((await session.commit()).ids).toEqual([]);
      session.enqueue('q', { payload: 'plain' });
      expect((await session.commit()).ids).toHaveLength(1);
    }
    expect((await client.queue('q')).ready).toBe(8);
  });
});
