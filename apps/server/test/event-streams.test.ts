import { connect } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EventStreams } from '../src/http/event-streams.ts';
import { waiting } from './start-app.ts';

describe('a reader that does not read', () => {
  it('is disconnected at the bound, and its stream is removed', async () => {
    const unreadBytesMax = 256 * 1024;
    const streams = new EventStreams({ max: 1, unreadBytesMax, heartbeatMs: 60_000 });
    const app = Fastify();
    let send = (_frame: string) => {};
    app.get('/events', async (_request, reply) => {
      const stream = streams.open(reply, () => {});
      send = (frame) => stream.send(frame);
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(async () => {
      streams.close();
      await app.close();
    });
    const { port } = app.server.address() as { port: number };
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => {}); // the test disconnects it on purpose
    socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await vi.waitFor(() => expect(streams.size).toBe(1), waiting);

    const frame = `data: ${'x'.repeat(64 * 1024)}\n\n`;
    // The buffers of the operating system hold some megabytes, so more than the bound must be sent.
    for (let sent = 0; sent < 64 * 1024 * 1024; sent += frame.length) send(frame);
    await vi.waitFor(() => expect(streams.size).toBe(0), waiting);
    send(frame); // has no effect after the end of the stream
    socket.destroy();
  });
});
