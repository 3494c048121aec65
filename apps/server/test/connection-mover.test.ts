/** Connections to the server's port, if the server cannot listen for what instances pass on to it. */
import { mkdirSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ConnectionMover } from '../src/shared-port/connection-mover.ts';
import { instanceHttpPath, readIntroduction } from '../src/shared-port/introduction.ts';
import { makeDataDir } from './start-app.ts';

it('are answered by the server until it can, and then moved', async () => {
  const dir = join(makeDataDir(), 'later');
  const server = createHttpServer((_request, response) =>
    response.setHeader('connection', 'close').end('here'),
  );
  const mover = new ConnectionMover({
    server,
    tls: false,
    cluster: { dir, hasProcesses: true, processes: () => [1] },
  });
  const instance = createServer((socket) =>
    readIntroduction(socket, {
      onClient: () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nthere'),
      onClosing: () => socket.destroy(),
    }),
  );
  onTestFinished(() => {
    mover.close(0);
    server.close();
    instance.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/queues/q/dequeue`;
  const call = async () => (await fetch(url, { method: 'POST' })).text();
  expect(await call()).toBe('here'); // its socket's folder is missing
  mkdirSync(dir);
  await new Promise<void>((resolve) => instance.listen(instanceHttpPath(dir, 1), resolve));
  expect(await call()).toBe('there');
});
