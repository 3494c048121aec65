/** One client for all instances of a cluster. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { type ClusterConnections, ClusterSession } from '../../src/client/cluster-session.ts';
import { sumQueueInfos } from '../../src/cluster/connect-cluster.ts';
import {
  type Cluster,
  type ClusterClient,
  connectCluster,
  QueueError,
  type Session,
  startCluster,
} from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { bytesOf, digest } from '../streams/payloads.ts';
import { ManualPorts } from '../support/manual-ports.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function start(instances: number): Promise<{ cluster: Cluster; client: ClusterClient }> {
  const cluster = await startCluster({ dir: makeFolder(), instances });
  onTestFinished(() => cluster.close());
  const client = connectCluster({ dir: cluster.dir });
  onTestFinished(() => client.close());
  await client.createQueue({ name: 'q' });
  return { cluster, client };
}

/** Enqueues by several sessions, which are spread over the instances. Returns the payloads of each session. */
async function fill(client: ClusterClient, sessions: number, each = 10): Promise<string[][]> {
  return Promise.all(
    Array.from({ length: sessions }, async (_, sessionIndex) => {
      const session = client.openSession();
      const payloads = Array.from({ length: each }, (__, index) => `${sessionIndex}.${index}`);
      for (const payload of payloads) session.enqueue('q', { payload });
      await session.commit();
      await session.close();
      return payloads;
    }),
  );
}

async function drain(session: Session): Promise<string[]> {
  const taken: string[] = [];
  for (;;) {
    const messages = await session.dequeue('q', { max: 100 });
    await session.commit();
    if (messages.length === 0) return taken;
    taken.push(...text(messages));
  }
}

const spreadOver = async (cluster: Cluster) => {
  const stats = await cluster.stats();
  return stats.flatMap(({ hosted }) => hosted).filter(({ stats: { enqueued } }) => enqueued > 0).length;
};

describe('a client of a cluster', () => {
  it('spreads its sessions over the instances and dequeues from all of them, in the order of each enqueuing session', async () => {
    const { cluster, client } = await start(2);
    const payloads = await fill(client, 6);
    expect(await spreadOver(cluster)).toBe(2);
    expect(await client.queue('q')).toMatchObject({ ready: 60, enqueued: 60 });
    const taken = await drain(client.openSession());
    expect([...taken].sort()).toEqual(payloads.flat().sort());
    for (const own of payloads) {
      const sessionIndex = own[0]!.split('.')[0];
      expect(taken.filter((payload) => payload.startsWith(`${sessionIndex}.`))).toEqual(own);
    }
    expect(await client.queues()).toMatchObject([{ name: 'q', ready: 0, consumed: 60 }]);
  });

  it('waits for messages of every instance', async () => {
    const { client } = await start(2);
    for (let round = 0; round < 4; round += 1) {
      const waiting = client.openSession().receive('q', { waitMs: 20_000 });
      await fill(client, 1, 1);
      expect(text(await waiting)).toEqual(['0.0']);
    }
    expect(await client.openSession().dequeue('q', { waitMs: 20 })).toEqual([]);
    const aborted = client.openSession().dequeue('q', { waitMs: 60_000, signal: AbortSignal.timeout(20) });
    expect(await aborted).toEqual([]);
  });

  it('pauses between two rounds of calls if every instance refuses at once, until its wait is over', async () => {
    const ports = new ManualPorts();
    let calls = 0;
    const dequeue = () => {
      calls += 1;
      // Ends the test if there are no pauses: the calls would go on for ever.
      return Promise.reject(new QueueError(calls > 100 ? 'STORAGE_FAILED' : 'LEASE_LAPSED'));
    };
    const connections = { ports, servedInstances: () => [1, 2], openSessionOn: () => ({ dequeue }) };
    const session = new ClusterSession(connections as unknown as ClusterConnections, () => undefined);
    const waiting = session.dequeue('q', { waitMs: 2 * limits.clusterPollMs });
    const refused = expect(waiting).rejects.toThrow(code('LEASE_LAPSED'));
    await ports.advance(2 * limits.clusterPollMs);
    await refused;
    expect(calls).toBe(6); // Both instances at the beginning, after one pause and at the end.
  });

  it('settles messages by receipts, in one call only those of one instance', async () => {
    const { client } = await start(2);
    await fill(client, 4, 1);
    const session = client.openSession();
    const receipts: string[] = [];
    while (receipts.length < 4) {
      receipts.push(...(await session.receive('q', { max: 1 })).map((message) => message.receipt));
    }
    const [again] = await session.receive('q', { sameInstanceAs: receipts[0]! });
    expect(again).toBeUndefined();
    const byInstance = Map.groupBy(receipts, (receipt) => receipt.split('/')[0]);
    expect(byInstance.size).toBe(2);
    expect(() => session.acknowledge('q', receipts)).toThrow(code('TX_SPANS_INSTANCES'));
    await expect(session.release('q', receipts)).rejects.toThrow(code('TX_SPANS_INSTANCES'));
    expect(() => session.acknowledge('q', ['nonsense'])).toThrow(code('RECEIPT_STALE'));
    const [some, others] = [...byInstance.values()] as [string[], string[]];
    session.acknowledge('q', some);
    expect(() => session.acknowledge('q', others)).toThrow(code('TX_SPANS_INSTANCES'));
    await session.commit();
    await session.release('q', others);
    expect(await client.queue('q')).toMatchObject({ ready: others.length, consumed: some.length, held: 0 });
    await expect(session.extend('q', some, 1_000)).rejects.toThrow(code('RECEIPT_STALE'));
  });

  it('uploads a streamed payload to one instance and reads it from whichever instance has it', async () => {
    const { client } = await start(2);
    const bytes = 2 * 1024 * 1024;
    const session = client.openSession();
    session.enqueue('q', { payload: 'beside' });
    expect(await session.enqueueStream('q', { payload: bytesOf(1, bytes) })).toEqual({ bytes });
    expect((await session.commit()).ids).toHaveLength(2);
    const other = client.openSession();
    const messages = await other.receive('q', { max: 2, waitMs: 20_000 });
    expect(messages.map(({ streamed }) => streamed)).toEqual([false, true]);
    const found = await client.openSession().messageOfReceipt('q', messages[1]!.receipt);
    for (const message of [messages[1]!, found]) {
      expect(await digest(message.payloadStream())).toEqual(await digest(bytesOf(1, bytes)));
    }
    other.acknowledge(
      'q',
      messages.map(({ receipt }) => receipt),
    );
    await other.commit();
    expect(await client.queue('q')).toMatchObject({ consumed: 2, held: 0 });
  });

  it('keeps the dequeues and enqueues of a transaction on one instance', async () => {
    const { client } = await start(2);
    await fill(client, 4, 1);
    const session = client.openSession();
    const [message] = await session.dequeue('q');
    expect(message!.receipt).toBe('');
    session.enqueue('q', { payload: 'answer' });
    const { ids } = await session.commit();
    const instanceOf = (id: string) => Math.floor(Number(id.split('.')[0]) / 100);
    expect(instanceOf(ids[0]!)).toBe(instanceOf(message!.id));
    expect(await client.queue('q')).toMatchObject({ ready: 4, consumed: 1 });
    await session.dequeue('q');
    await session.rollback();
    expect(await client.queue('q')).toMatchObject({ ready: 4, held: 0 });
  });

  it('pages through the messages of all instances, and starts, stops and drops a queue on all of them', async () => {
    const { client } = await start(2);
    const payloads = (await fill(client, 4, 3)).flat();
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await client.browse('q', { limit: 5, ...(after !== undefined && { after }) });
      seen.push(...text(page.messages));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen.sort()).toEqual(payloads.sort());
    await expect(client.browse('q', { after: 'x' })).rejects.toThrow(code('OPTIONS_INVALID'));

    expect(await client.stopQueue('q', { enqueue: true })).toMatchObject({
      enqueueEnabled: false,
      ready: 12,
    });
    for (let i = 0; i < 4; i += 1) {
      const session = client.openSession();
      session.enqueue('q', { payload: 'late' });
      await expect(session.commit()).rejects.toThrow(code('ENQUEUE_STOPPED'));
    }
    await client.startQueue('q');
    await client.dropQueue('q');
    await expect(client.queue('q')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    expect(await client.queues()).toEqual([]);
  });

  it('finds an instance wherever it is served, and stops using a removed one', {
    timeout: 60_000,
  }, async () => {
    const { cluster, client } = await start(2);
    const sessions = Array.from({ length: 4 }, () => client.openSession());
    const enqueueAll = (payload: string) =>
      Promise.all(
        sessions.map(async (session) => {
          // The answer that it did not commit is final, so the transaction is repeated.
          for (let done = false; !done; ) {
            session.enqueue('q', { payload });
            done = await session.commit().then(
              () => true,
              (error: unknown) => {
                expect(error).toMatchObject({ retryable: true });
                return false;
              },
            );
          }
        }),
      );
    await enqueueAll('before');
    cluster.kill(2);
    await enqueueAll('after the kill');
    await cluster.remove(2);
    await enqueueAll('after the removal');
    const { ready } = await client.queue('q');
    const taken = await drain(client.openSession());
    expect(taken).toHaveLength(ready);
    for (const payload of ['before', 'after the kill', 'after the removal']) {
      expect(taken.filter((each) => each === payload)).toHaveLength(4);
    }
    await vi.waitFor(() => expect(cluster.topology().map(({ instance }) => instance)).toEqual([1]), {
      timeout: 20_000,
    });
  });
});

it('the counts of a sharded queue are those of all its instances together', async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q' });
  const counts = { ready: 1, held: 2, delayed: 3, enqueued: 4, consumed: 5, forwardedIn: 6, forwardedOut: 7 };
  const one = { ...instance.queue('q'), ...counts };
  const sums = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, 2 * count]));
  expect(sumQueueInfos([one, one])).toEqual({ ...one, ...sums });
});
