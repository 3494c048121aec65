/** A client that stalls in the middle of a body gets an error and is disconnected. */
import fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import type { App } from '../src/http/app-types.ts';
import { chunksWithinTime, limitBodyTime, streamedBody } from '../src/http/body-time.ts';
import { mapError } from '../src/http/map-error.ts';
import { sendRaw } from './raw-client.ts';

async function listening(): Promise<number> {
  const app = fastify({ requestTimeout: 0 }) as unknown as App;
  onTestFinished(() => app.close());
  limitBodyTime(app, 100);
  app.addContentTypeParser('application/octet-stream', (_request, body, done) => done(null, body));
  app.setErrorHandler((error, _request, reply) => {
    const { status, body } = mapError(error);
    return reply.code(status).header('connection', 'close').send(body);
  });
  app.post('/whole', async () => 'all of it');
  app.post('/pieces', { config: streamedBody }, async (request) => {
    let bytes = 0;
    for await (const piece of chunksWithinTime(request.raw, 100)) bytes += piece.length;
    return String(bytes);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as { port: number }).port;
}

const send = (port: number, path: string, type: string, body: string, bytes = body.length) =>
  sendRaw(
    port,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n${body}`,
  );

it.each([
  ['/whole', 'application/json'],
  ['/pieces', 'application/octet-stream'],
])('a body of %s that does not go on is answered with 408', async (path, type) => {
  const port = await listening();
  const answer = await send(port, path, type, '"half', 100);
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
});

it.each([
  ['/whole', 'application/json', 'all of it'],
  ['/pieces', 'application/octet-stream', '7'],
])('a body of %s that comes in time is taken', async (path, type, expected) => {
  const port = await listening();
  const answer = await send(port, path, type, '"whole"');
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(answer.endsWith(expected)).toBe(true);
});
