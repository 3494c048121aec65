/** A served instance: where it listens, what it answers, and how it treats invalid connections. */
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { connect as connectSocket, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { connect, type Instance, serveInstance } from '../../src/index.ts';
import { recordByteLength } from '../../src/model/message-record.ts';
import type { LocalInstance } from '../../src/runtime/local-instance.ts';
import { answerAdminCall } from '../../src/server/admin-calls.ts';
import { protocolVersion } from '../../src/wire/protocol.ts';
import { makeFolder, openTestClient, openTestInstance, text } from '../folder.ts';
import { code, connectTo, drain, serve } from './serving.ts';

describe('a served instance', () => {
  it('listens in its folder, accessible to its own user only', async () => {
    const instance = await openTestInstance({ instance: 3 });
    const { path } = await serve(instance);
    expect(path).toBe(join((instance as unknown as { dir: string }).dir, 'instance-3.sock'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('replaces a socket on which no process listens, but not one that is in use', async () => {
    const instance = await openTestInstance();
    const path = join(makeFolder(), 'i.sock');
    writeFileSync(path, ''); // Like the socket of a dead process, this file does not answer.
    await serve(instance, path);
    await expect(serveInstance(instance, { path })).rejects.toThrow(code('INSTANCE_IN_USE'));
  });

  it('returns the messages of a disconnected client, and closes its sessions', async () => {
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

  it('remembers the outcome of a session’s last commit until the session is closed', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const client = await openTestClient(instance);
    const outcomes = (instance as LocalInstance).recoverOutcomes();
    const sessions = [client.openSession(), client.openSession()];
    for (const session of sessions) {
      session.enqueue('q', { payload: 'a' });
      await session.commit();
    }
    expect(outcomes.size).toBe(2);
    await sessions[0]!.close();
    expect(outcomes.size).toBe(1);
    await client.close();
    expect(outcomes.size).toBe(0);
  });

  it('serves a session that was refused at the session limit once another session is closed', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const client = await openTestClient(instance);
    const taken = Array.from({ length: limits.sessionsMax }, () => instance.openSession());
    const session = client.openSession();
    const refused = session.dequeue('q', { waitMs: 60_000, signal: AbortSignal.abort() });
    await expect(refused).rejects.toThrow(code('SESSIONS_FULL'));
    await client.openSession().close();
    await taken[0]!.close();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    expect(instance.queue('q').ready).toBe(1);
  });

  it('finishes commits under way when it stops serving', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const served = await serve(instance);
    const client = await connectTo(served.path, 100);
    const session = client.openSession();
    session.enqueue('q', { payload: 'a' });
    const commit = session.commit();
    await client.queues(); // By now the commit has arrived.
    await served.close();
    expect((await commit).ids).toHaveLength(1);
    expect(await drain(instance)).toEqual(['a']);
  });

  it('answers calls about its queues, topics and statistics', async () => {
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

  it('limits the page of a browse to the size of one answer', async () => {
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

it.each([
  ['many properties', { payload: '', properties: { p: 'x'.repeat(60_000) } }],
  [
    'all of the largest size',
    {
      payload: 'x'.repeat(limits.payloadBytesMax),
      properties: { p: 'x'.repeat(limits.propertiesBytesMax) },
      recipients: Array<string>(limits.subscribersMax).fill(
        '\u0001'.repeat(limits.subscriberNameCharactersMax),
      ),
    },
  ],
])('a page of browsed messages with %s fits a frame', async (_, { payload, ...message }) => {
  const browsed = { ...message, payload: Buffer.from(payload), id: '100.1', state: 'ready' };
  const bytes = recordByteLength({ ...message, payload });
  const instance = {
    browse: async (_queue: string, { limit, bytesMax }: { limit: number; bytesMax: number }) => ({
      messages: Array.from(
        { length: Math.min(limit, Math.max(1, Math.floor(bytesMax / bytes))) },
        () => browsed,
      ),
      next: 'more',
    }),
  } as unknown as Instance;
  const call = { method: 'browse', args: ['q', { limit: 1_000 }] };
  const page = await answerAdminCall(instance, JSON.stringify(call));
  expect(Buffer.byteLength(page)).toBeLessThan(limits.frameBytesMax);
  expect(Buffer.byteLength(page)).toBeGreaterThan(limits.browseBytesMax / 2);
});

describe('a connection', () => {
  const hello = (version: number = protocolVersion) => {
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
      'with an unknown call',
      Buffer.concat([hello(), frame(12, Buffer.from('{"method":"toString","args":[]}'))]),
      'PROTOCOL_INVALID',
    ],
  ])('%s is ended with an error, and others continue', async (_, bytes, expected) => {
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

  it('to another kind of server is refused', async () => {
    const path = join(makeFolder(), 'other.sock');
    const other = createServer((socket) => socket.end('220 mail.example.org ESMTP\r\n'));
    other.listen(path);
    await once(other, 'listening');
    onTestFinished(() => {
      other.close();
    });
    await expect(connect({ path })).rejects.toThrow(code('PROTOCOL_INVALID'));
  });

  it('that does not read its answers is not read from, and gets all of them once it reads', async () => {
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
    // Pending answers are bounded per connection, so those of other clients do not queue behind these.
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
