/** A client that does not read its response is disconnected, and its share and its messages are free again. */
import { connect } from 'node:net';
import type { MessageOut, QueueInfo } from '@shardlab/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listeningPort } from '../src/http/listening-port.ts';
import { startApp, waiting } from './start-app.ts';

const bodyPace = { graceMs: 50, windowMs: 50, bytesPerSecMin: 1_000 };

async function listening() {
  const { app } = await startApp({ bodyPace });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const post = async <T>(path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as T;
  };
  await post('/api/queues', { name: 'q' });
  const info = async () => (await (await fetch(`${url}/api/queues/q`)).json()) as QueueInfo;
  /** Resolves when the server has closed the connection of a client that never reads. */
  const sendAndNeverRead = async (request: string) => {
    const socket = connect(listeningPort(app)!, '127.0.0.1').pause();
    onTestFinished(() => void socket.destroy());
    socket.write(request.replace('HOST', new URL(url).host));
    socket.on('error', () => {}); // a reset is one way to be closed
    // A paused socket is not notified of its end, but a write to a closed connection fails.
    await vi.waitFor(() => {
      socket.write('\r\n');
      expect(socket.destroyed).toBe(true);
    }, waiting);
  };
  return { url, post, info, sendAndNeverRead };
}

it('with a payload', async () => {
  const { url, post, sendAndNeverRead } = await listening();
  const body = Buffer.alloc(32 * 1024 * 1024);
  expect((await fetch(`${url}/api/queues/q/messages/stream`, { method: 'POST', body })).status).toBe(201);
  const { messages } = await post<{ messages: MessageOut[] }>('/api/queues/q/dequeue', { holdMs: 600_000 });
  const path = `/api/queues/q/payload?receipt=${encodeURIComponent(messages[0]!.receipt!)}`;
  await sendAndNeverRead(`GET ${path} HTTP/1.1\r\nHost: HOST\r\n\r\n`);
  expect((await fetch(`${url}${path}`)).status).toBe(200);
});

it('with messages, browsed or dequeued', async () => {
  const { post, info, sendAndNeverRead } = await listening();
  const payloadBase64 = Buffer.alloc(700_000).toString('base64');
  for (let index = 0; index < 16; index += 1)
    await post('/api/queues/q/messages', { messages: [{ payloadBase64 }] });
  await sendAndNeverRead('GET /api/queues/q/messages HTTP/1.1\r\nHost: HOST\r\n\r\n');
  const body = JSON.stringify({ max: 100, holdMs: 600_000 });
  await sendAndNeverRead(
    `POST /api/queues/q/dequeue HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await vi.waitFor(async () => expect(await info()).toMatchObject({ ready: 16, held: 0 }), waiting);
});
