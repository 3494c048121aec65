/** What a remote session promises when it loses its connection, or the process at the other end. */
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClientLink } from '../../src/client/client-link.ts';
import { connect, type QueueKind, serveInstance } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { code, connectTo, drain, serve } from './serving.ts';
import { makeUnreliableLink, type UnreliableLink } from './unreliable-link.ts';

async function setUp(kind: QueueKind = 'sharded') {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', kind });
  const served = await serve(instance);
  const link: UnreliableLink = await makeUnreliableLink(served.path);
  return { instance, served, link, client: await connectTo(link.path) };
}

describe.each<QueueKind>(['sharded', 'unsharded', 'unsharded-grouped'])('a commit on a %s queue', (kind) => {
  it('whose answer was lost resolves with its ids once the client is back', async () => {
    const { instance, client, link } = await setUp(kind);
    const session = client.openSession();
    session.enqueue('q', { payload: 'first' });
    await session.commit();
    session.enqueue('q', { payload: 'a' });
    session.enqueue('q', { payload: 'b' });
    link.loseAnswers();
    const commit = session.commit();
    await link.lost();
    link.cut();
    const { ids } = await commit;
    const messages = await instance.openSession().dequeue('q', { max: 10 });
    expect(text(messages)).toEqual(['first', 'a', 'b']);
    expect(messages.slice(1).map((message) => message.id)).toEqual(ids);
  });

  it('whose connection the client ended because of an invalid frame resolves too', async () => {
    const { client, link } = await setUp(kind);
    const session = client.openSession();
    session.enqueue('q', { payload: 'first' });
    await session.commit();
    session.enqueue('q', { payload: 'a' });
    link.loseAnswers();
    const commit = session.commit();
    await link.lost();
    link.corrupt();
    expect((await commit).ids).toHaveLength(1);
  });

  it('that did not arrive rejects as not done, and is refused if it arrives later', async () => {
    const { instance, client, link } = await setUp(kind);
    const session = client.openSession();
    session.enqueue('q', { payload: 'first' });
    await session.commit();
    session.enqueue('q', { payload: 'late' });
    link.holdRequests();
    const commit = session.commit();
    await link.lost();
    link.cut();
    await expect(commit).rejects.toThrow(code('TX_NOT_COMMITTED'));
    link.deliver();
    session.enqueue('q', { payload: 'again' });
    await session.commit();
    expect(await drain(instance)).toEqual(['first', 'again']);
  });

  it('that consumes held messages resolves too if its answer was lost', async () => {
    const { instance, client, link } = await setUp(kind);
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    await session.dequeue('q');
    link.loseAnswers();
    const commit = session.commit();
    await link.lost();
    link.cut();
    expect((await commit).ids).toEqual([]);
    expect(instance.queue('q')).toMatchObject({ consumed: 1, held: 0, ready: 0 });
  });
});

describe('a session whose connection was lost', () => {
  it('has its commit refused even if no request of it had arrived before', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    session.enqueue('q', { payload: 'late' });
    link.holdRequests(); // This withholds the opening of the session too.
    const commit = session.commit();
    await link.lost();
    link.cut();
    await expect(commit).rejects.toThrow(code('TX_NOT_COMMITTED'));
    await session.close();
    link.deliver();
    const other = client.openSession();
    other.enqueue('q', { payload: 'other' });
    await other.commit();
    expect(await drain(instance)).toEqual(['other']);
  });

  it('learns that the messages of its transaction were returned, and continues', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    expect(text(await session.dequeue('q'))).toEqual(['a']);
    link.cut();
    // The instance notices by itself that the connection is lost.
    expect(text(await instance.openSession().receive('q', { waitMs: 10_000, holdMs: 10 }))).toEqual(['a']);
    session.enqueue('q', { payload: 'never' });
    await expect(session.commit()).rejects.toThrow(code('TX_NOT_COMMITTED'));
    expect(text(await session.dequeue('q', { waitMs: 10_000 }))).toEqual(['a']);
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ enqueued: 1, consumed: 1 });
  });

  it('keeps staged messages if its transaction holds none', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    link.cut();
    await client.queues().catch(() => undefined); // Whether or not this fails, the client has noticed the loss by then.
    session.enqueue('q', { payload: 'b' });
    await session.commit();
    expect(await drain(instance)).toEqual(['a', 'b']);
  });

  it('rejects the waiting call, and can wait again', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    const waiting = session.dequeue('q', { waitMs: 60_000 });
    await client.queues(); // By now the waiting call has arrived.
    link.cut();
    await expect(waiting).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    const again = session.dequeue('q', { waitMs: 60_000 });
    const enqueuer = instance.openSession();
    enqueuer.enqueue('q', { payload: 'a' });
    await enqueuer.commit();
    expect(text(await again)).toEqual(['a']);
  });
});

describe('an instance that is no longer served', () => {
  it('makes calls fail and leaves the outcome of a commit unknown, within the connection timeout of the client', async () => {
    const { served, link } = await setUp();
    const client = await connectTo(link.path, 200);
    const session = client.openSession();
    session.enqueue('q', { payload: 'first' });
    await session.commit();
    session.enqueue('q', { payload: 'a' });
    link.loseAnswers();
    const commit = session.commit();
    await link.lost();
    await served.close();
    link.cut();
    await expect(commit).rejects.toThrow(code('COMMIT_OUTCOME_UNKNOWN'));
    session.enqueue('q', { payload: 'b' });
    await expect(session.commit()).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    await expect(client.queues()).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
  });

  it('is found again at the same path, with all committed messages', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const first = await serveInstance(instance);
    const client = await connectTo(first.path);
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    await first.close();
    const noticed = client.queues().catch(() => undefined); // Whether or not this fails, the client has noticed the loss by then.
    await serve(instance, first.path);
    await noticed;
    const soon = session.dequeue('q', { waitMs: 10_000 });
    expect(text(await soon)).toEqual(['a']);
  });

  it('is not waited for longer than the connection timeout', async () => {
    const path = join(makeFolder(), 'nobody.sock');
    await expect(connect({ path, connectMs: 20 })).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    await expect(connect({})).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(connect({ path, connectMs: 0 })).rejects.toThrow(code('OPTIONS_INVALID'));
  });
});

describe('a client whose instance does not read', () => {
  it('sends no more than the bound until the instance reads again', async () => {
    const path = join(makeFolder(), 'slow.sock');
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.once('data', () => {
        const welcome = Buffer.from([9, 0, 0, 0, 65, 0, 0, 0, 0, 1, 0, 0, 0]);
        socket.write(welcome);
        socket.pause();
      });
    });
    server.listen(path);
    onTestFinished(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    const link = new ClientLink({ path, connectMs: 10_000, ports: nodePorts });
    onTestFinished(() => link.close());
    await link.ensureConnected();
    const megabyte = Buffer.alloc(1024 * 1024);
    let asked = 0;
    for (; !link.full; asked += 1) {
      expect(asked).toBeLessThan(12);
      link.request(99, (outbox) => outbox.bytes(megabyte, 0, megabyte.length)).catch(() => undefined);
    }
    const drained = link.drained();
    sockets[0]!.resume();
    await drained;
    expect(link.full).toBe(false);
  });
});

describe('a call on a buffered queue whose answer was lost', () => {
  async function setUpBuffered() {
    const { instance, client, link } = await setUp();
    await instance.createQueue({ name: 'b', durability: 'memory', visibility: 'immediate' });
    const session = client.openSession();
    await session.enqueueNow('b', { payload: 'first' });
    return { instance, session, link };
  }

  it('may have enqueued, as its error says, and the session continues', async () => {
    const { instance, session, link } = await setUpBuffered();
    link.loseAnswers();
    const enqueuing = session.enqueueNow('b', { payload: 'second' });
    await link.lost();
    link.cut();
    await expect(enqueuing).rejects.toThrow(code('COMMIT_OUTCOME_UNKNOWN'));
    await session.enqueueNow('b', { payload: 'third' });
    expect(text(await instance.openSession().dequeueNow('b', { max: 5 }))).toEqual([
      'first',
      'second',
      'third',
    ]);
  });

  it('has consumed the dequeued message, and does not change the transaction', async () => {
    const { instance, session, link } = await setUpBuffered();
    session.enqueue('q', { payload: 'staged before' });
    link.loseAnswers();
    const dequeuing = session.dequeueNow('b');
    await link.lost();
    link.cut();
    await expect(dequeuing).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    expect(await session.dequeueNow('b')).toEqual([]);
    expect(instance.queue('b')).toMatchObject({ consumed: 1, ready: 0, held: 0 });
    await session.commit();
    expect(await drain(instance)).toEqual(['staged before']);
  });
});
