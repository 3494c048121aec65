/** SIGTERM ends the server within its time limit, in the middle of any request. */
import { connect, type Socket } from 'node:net';
import { setInterval as every } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { ServerProcess } from './server-process.ts';
import { makeDataDir } from './start-app.ts';

/** A connection that sends `text` at once, then a byte of `drip` now and then, and never reads. */
async function dripper(port: number, text: string, drip: string | undefined): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {}); // the server disconnects it on purpose
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(text);
  if (drip !== undefined) {
    void (async () => {
      for await (const _ of every(20)) {
        if (!socket.writable) return;
        socket.write(drip);
      }
    })();
  }
  return socket;
}

it('SIGTERM ends a server whose clients drip uploads, bodies and headers, say nothing, or follow streams', async () => {
  const server = new ServerProcess({ DATA_DIR: makeDataDir() });
  const url = await server.ready();
  const { port, host } = new URL(url);
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}/api/queues`, { method: 'POST', headers, body: '{"name":"q"}' });
  const post = (path: string, type: string) =>
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: 500000\r\n\r\n`;
  const clients: [text: string, drip?: string][] = [
    [post('/api/queues/q/messages/stream', 'application/octet-stream'), 'x'],
    [post('/api/queues/q/messages', 'application/json'), ' '],
    [`GET /api/health HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `, 'x'],
    ['GET /api', '/'],
    [''],
    [`GET /api/cluster/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    [
      `POST /api/queues/q/dequeue HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 16\r\nContent-Type: application/json\r\n\r\n{"waitMs":30000}`,
    ],
  ];
  for (const [text, drip] of clients) await dripper(Number(port), text, drip);
  expect((await fetch(`${url}/api/health`)).status).toBe(200); // all bytes sent before have arrived by now

  server.child.kill('SIGTERM');
  // After its time limit the server would end with exit code 1 and a message.
  expect(await server.ended).toEqual({ code: 0, signal: null });
  expect(server.stderr).toBe('');
});
