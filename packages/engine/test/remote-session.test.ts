/** What a remote session promises when its connection is lost, and how the two sides find each other. */
import { once } from 'node:events';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectSocket, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  connect,
  type Instance,
  type QueueKind,
  type RemoteInstance,
  type ServedInstance,
  serveInstance,
} from '../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';
import { makeUnreliableLink, type UnreliableLink } from './unreliable-link.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function serve(instance: Instance, path?: string): Promise<ServedInstance> {
  const served = await serveInstance(instance, path === undefined ? {} : { path });
  onTestFinished(() => served.close());
  return served;
}

async function connectTo(path: string, connectMs = 10_000): Promise<RemoteInstance> {
  const client = await connect({ path, connectMs });
  onTestFinished(() => client.close());
  return client;
}

async function setUp(kind: QueueKind = 'sharded') {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', kind });
  const served = await serve(instance);
  const link: UnreliableLink = await makeUnreliableLink(served.path);
  return { instance, served, link, client: await connectTo(link.path) };
}

const drain = async (instance: Instance) =>
  text(await instance.openSession().dequeue('q', { max: 100, waitMs: 0 }));

describe.each<QueueKind>(['sharded', 'unsharded'])('a commit on a %s queue', (kind) => {
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

  it('that never arrived rejects as not done, and what arrives later is refused', async () => {
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

  it('that consumes what was held is found out too', async () => {
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
  it('is refused even if nothing of it had arrived before', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    session.enqueue('q', { payload: 'late' });
    link.holdRequests(); // the opening of the session too
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

  it('learns that what its transaction held went back, and goes on', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    expect(text(await session.dequeue('q'))).toEqual(['a']);
    link.cut();
    // The instance notices by itself that the client is gone.
    expect(text(await instance.openSession().receive('q', { waitMs: 10_000, holdMs: 10 }))).toEqual(['a']);
    session.enqueue('q', { payload: 'never' });
    await expect(session.commit()).rejects.toThrow(code('TX_NOT_COMMITTED'));
    expect(text(await session.dequeue('q', { waitMs: 10_000 }))).toEqual(['a']);
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ enqueued: 1, consumed: 1 });
  });

  it('keeps what it has staged and holds nothing by', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    link.cut();
    await client.queues().catch(() => undefined); // whatever it answers, the client knows by then
    session.enqueue('q', { payload: 'b' });
    await session.commit();
    expect(await drain(instance)).toEqual(['a', 'b']);
  });

  it('rejects the call that waits, and can wait again', async () => {
    const { instance, client, link } = await setUp();
    const session = client.openSession();
    const waiting = session.dequeue('q', { waitMs: 60_000 });
    await client.queues(); // the wait has arrived
    link.cut();
    await expect(waiting).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    const again = session.dequeue('q', { waitMs: 60_000 });
    const enqueuer = instance.openSession();
    enqueuer.enqueue('q', { payload: 'a' });
    await enqueuer.commit();
    expect(text(await again)).toEqual(['a']);
  });
});

describe('an instance that nobody serves any more', () => {
  it('rejects calls and leaves the outcome of a commit unknown, in the time that the client gives it', async () => {
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

  it('is found again at the same path, with what was committed before', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const first = await serveInstance(instance);
    const client = await connectTo(first.path);
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    await first.close();
    const noticed = client.queues().catch(() => undefined); // whatever it answers, the client knows by then
    await serve(instance, first.path);
    await noticed;
    const soon = session.dequeue('q', { waitMs: 10_000 });
    expect(text(await soon)).toEqual(['a']);
  });

  it('is not waited for longer than asked', async () => {
    const path = join(makeFolder(), 'nobody.sock');
    await expect(connect({ path, connectMs: 20 })).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
    await expect(connect({})).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(connect({ path, connectMs: 0 })).rejects.toThrow(code('OPTIONS_INVALID'));
  });
});

describe('a served instance', () => {
  it('listens in its folder, for its own user alone', async () => {
    const instance = await openTestInstance({ instance: 3 });
    const { path } = await serve(instance);
    expect(path).toBe(join((instance as unknown as { dir: string }).dir, 'instance-3.sock'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('replaces a socket that nobody answers on, but not one that somebody does', async () => {
    const instance = await openTestInstance();
    const path = join(makeFolder(), 'i.sock');
    writeFileSync(path, ''); // as good as the socket of a dead process: nobody answers
    await serve(instance, path);
    await expect(serveInstance(instance, { path })).rejects.toThrow(code('INSTANCE_IN_USE'));
  });

  it('gives back what a client held that is gone, and frees its sessions', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const served = await serve(instance);
    const client = await connect({ path: served.path });
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    await session.dequeue('q');
    await client.close();
    expect(text(await instance.openSession().dequeue('q', { waitMs: 10_000 }))).toEqual(['a']);
    await expect.poll(() => served.connections).toBe(0);
  });

  it('finishes commits under way when it stops serving', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const served = await serve(instance);
    const client = await connectTo(served.path, 100);
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    const commit = session.commit();
    await client.queues(); // the commit has arrived
    await served.close();
    expect((await commit).ids).toHaveLength(1);
    expect(await drain(instance)).toEqual(['a']);
  });

  it('answers calls about its queues, topics and figures', async () => {
    const instance = await openTestInstance();
    const client = await openTestClient(instance);
    expect(client.id).toBe(1);
    await client.createQueue({ name: 'news', type: 'topic' });
    expect(await client.subscribe('news', { name: 'ann' })).toMatchObject({ name: 'ann', backlog: 0 });
    const session = client.openSession();
    session.enqueue('news', { payload: 'a', recipients: ['ann'] });
    await session.commit();
    expect(await client.subscribers('news')).toEqual([expect.objectContaining({ name: 'ann', backlog: 1 })]);
    const browsed = await client.browse('news', { subscriber: 'ann' });
    expect(text(browsed.messages)).toEqual(['a']);
    expect(text(await session.dequeue('news', { subscriber: 'ann' }))).toEqual(['a']);
    await session.commit();
    expect(await client.queues()).toEqual(instance.queues());
    expect(await client.stats()).toMatchObject({ instance: 1, enqueued: 1, consumed: 1 });
    expect(await client.waits()).toContainEqual(expect.objectContaining({ event: 'log file sync' }));
    await client.unsubscribe('news', 'ann');
    await client.dropQueue('news');
    await expect(client.queue('news')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
  });

  it('sends a browsed page that is short enough for one answer', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const client = await openTestClient(instance);
    const session = client.openSession();
    for (let i = 0; i < 40; i += 1) {
      session.enqueue('q', { payload: Buffer.alloc(1024 * 1024, i) });
      if (i % 20 === 19) await session.commit();
    }
    const first = await client.browse('q', { limit: 100 });
    const second = await client.browse('q', { limit: 100, after: first.next! });
    expect(first.messages.length).toBeLessThan(40);
    expect([...first.messages, ...second.messages].map((message) => message.payload[0])).toEqual(
      Array.from({ length: 40 }, (_, index) => index),
    );
    const all = await session.dequeue('q', { max: 40 });
    expect(all.map((message) => message.payload[0])).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });
});

describe('a connection', () => {
  const hello = (version = 1) => {
    const bytes = Buffer.alloc(15);
    bytes.writeUInt32LE(11, 0);
    bytes[4] = 1;
    bytes.writeUInt32LE(0x44524853, 9);
    bytes.writeUInt16LE(version, 13);
    return bytes;
  };
  const frame = (kind: number, body: Buffer) => {
    const bytes = Buffer.alloc(9 + body.length);
    bytes.writeUInt32LE(5 + body.length, 0);
    bytes[4] = kind;
    bytes.writeUInt32LE(1, 5);
    body.copy(bytes, 9);
    return bytes;
  };

  it.each<[string, Buffer, string]>([
    ['without a greeting', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'PROTOCOL_INVALID'],
    ['of another version', hello(99), 'PROTOCOL_VERSION'],
    ['with an unknown request', Buffer.concat([hello(), frame(99, Buffer.alloc(8))]), 'PROTOCOL_INVALID'],
    ['with a frame cut short', Buffer.concat([hello(), frame(7, Buffer.alloc(2))]), 'PROTOCOL_INVALID'],
    ['to a session not open', Buffer.concat([hello(), frame(8, Buffer.alloc(4))]), 'PROTOCOL_INVALID'],
    ['with a call not in JSON', Buffer.concat([hello(), frame(12, Buffer.from('{'))]), 'PROTOCOL_INVALID'],
    [
      'with a call nobody knows',
      Buffer.concat([hello(), frame(12, Buffer.from('{"method":"toString","args":[]}'))]),
      'PROTOCOL_INVALID',
    ],
  ])('%s is told why and ended, and others go on', async (_, bytes, expected) => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const client = await openTestClient(instance);
    const socket = connectSocket(join((instance as unknown as { dir: string }).dir, 'instance-1.sock'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(bytes);
    await once(socket, 'close');
    expect(Buffer.concat(chunks).toString()).toContain(expected);
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    expect(text(await session.dequeue('q'))).toEqual(['a']);
  });

  it('to something else than an instance is refused', async () => {
    const path = join(makeFolder(), 'other.sock');
    const other = createServer((socket) => socket.end('220 mail.example.org ESMTP\r\n'));
    other.listen(path);
    await once(other, 'listening');
    onTestFinished(() => {
      other.close();
    });
    await expect(connect({ path })).rejects.toThrow(code('PROTOCOL_INVALID'));
    rmSync(path, { force: true });
  });

  it('that does not read its answers is not read from, and loses nothing once it does', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const { path } = await serve(instance);
    const enqueuer = instance.openSession();
    for (let i = 0; i < 16; i += 1) enqueuer.enqueue('q', { payload: Buffer.alloc(1024 * 1024) });
    await enqueuer.commit();
    const socket = connectSocket(path);
    socket.pause();
    socket.write(hello());
    const browse = frame(12, Buffer.from('{"method":"browse","args":["q",{"limit":16}]}'));
    const asked = 8;
    for (let i = 0; i < asked; i += 1) socket.write(browse);
    // What is pending at the instance is bounded: others are served, and their answers do not queue behind these.
    const client = await connectTo(path);
    await client.queues();
    let bytes = 0;
    const all = new Promise<void>((resolve) => {
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > asked * 16 * 1024 * 1024) resolve();
      });
    });
    socket.resume();
    await all;
    socket.destroy();
  });
});
