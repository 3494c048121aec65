import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify, { type FastifyReply } from 'fastify';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type EventStream, EventStreams, type EventStreamsOptions } from '../src/http/event-streams.ts';
import { waiting } from './start-app.ts';

const frame = `data: ${'x'.repeat(64 * 1024)}\n\n`;
/** The buffers of the operating system hold some megabytes, so more than the bound must be sent. */
const moreThanBuffered = 64 * 1024 * 1024;

interface Listening extends Partial<EventStreamsOptions> {
  beforeOpen?(reply: FastifyReply): Promise<void>;
}

async function listening({ beforeOpen, ...options }: Listening) {
  const bounds = { max: 8, unreadBytesMax: 1e9, allUnreadBytesMax: 1e9, heartbeatMs: 60_000 };
  const streams = new EventStreams({ ...bounds, ...options });
  const opened: { isOpen: boolean; send: EventStream['send'] }[] = [];
  const app = Fastify();
  app.get('/events', async (_request, reply) => {
    await beforeOpen?.(reply);
    const state = { isOpen: true, send: (_frame: string) => {} };
    const stream = streams.open(reply, () => {
      state.isOpen = false;
    });
    opened.push(Object.assign(state, { send: stream.send.bind(stream) }));
  });
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/events`;
  onTestFinished(async () => {
    streams.close();
    app.server.closeAllConnections();
    await app.close();
  });
  /** Connects a client that reads nothing, and resolves when its stream is open. */
  const connectPaused = async () => {
    const count = opened.length + 1;
    const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}); // the test disconnects it on purpose
    socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await vi.waitFor(() => expect(opened).toHaveLength(count), waiting);
  };
  return { streams, opened, url, connectPaused };
}

describe('a reader that does not read', () => {
  it('is disconnected at the bound, and its stream is removed', async () => {
    const unreadBytesMax = 256 * 1024;
    const { streams, opened, connectPaused } = await listening({ unreadBytesMax });
    await connectPaused();
    for (let sent = 0; sent < moreThanBuffered; sent += frame.length) opened[0]!.send(frame);
    await vi.waitFor(() => expect(streams.size).toBe(0), waiting);
    opened[0]!.send(frame); // has no effect after the end of the stream
  });

  it('is disconnected when all together have too much unread, and those that are less behind stay', async () => {
    const { streams, opened, connectPaused } = await listening({ allUnreadBytesMax: 256 * 1024 });
    await connectPaused();
    await connectPaused();
    opened[1]!.send(frame);
    for (let sent = 0; sent < moreThanBuffered; sent += frame.length) opened[0]!.send(frame);
    await vi.waitFor(() => expect(streams.size).toBe(1), waiting);
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  });
});

describe('a frame', () => {
  it('may be larger than what a client may leave unread', async () => {
    const { streams, opened, url } = await listening({ unreadBytesMax: 1024 });
    const answer = await fetch(url);
    opened[0]!.send(`data: ${'x'.repeat(8 * 1024 * 1024)}\n\n`);
    const received = answer.text();
    streams.close();
    expect((await received).length).toBeGreaterThan(8 * 1024 * 1024);
  });
});

describe('a client that has gone before its stream is opened', () => {
  it('keeps no place', async () => {
    const { streams, opened, connectPaused } = await listening({
      beforeOpen: async ({ raw }) => {
        raw.socket!.destroy();
        await once(raw, 'close');
      },
    });
    await connectPaused();
    await vi.waitFor(() => expect(opened.map(({ isOpen }) => isOpen)).toEqual([false]), waiting);
    expect(streams.size).toBe(0);
  });
});
