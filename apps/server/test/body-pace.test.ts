/** A client that stalls in the middle of a body gets an error and is disconnected. */
import fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { App } from '../src/http/app-types.ts';
import { chunksAtPace, limitBodyTime, type Pace, PaceWindow, streamedBody } from '../src/http/body-pace.ts';
import { mapError } from '../src/http/map-error.ts';
import { sendRaw } from './raw-client.ts';

const pace: Pace = { graceMs: 50, windowMs: 50, bytesPerSecMin: 1_000 };

async function listening(): Promise<number> {
  const app = fastify({ requestTimeout: 0 }) as unknown as App;
  onTestFinished(() => app.close());
  limitBodyTime(app, { ms: 60_000, pace });
  app.addContentTypeParser('application/octet-stream', (_request, body, done) => done(null, body));
  app.setErrorHandler((error, _request, reply) => {
    const { status, body } = mapError(error);
    return reply.code(status).header('connection', 'close').send(body);
  });
  app.post('/whole', async () => 'all of it');
  app.post('/pieces', { config: streamedBody }, async (request) => {
    let bytes = 0;
    for await (const piece of chunksAtPace(request.raw, pace)) bytes += piece.length;
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
  expect(answer).toContain('"code":"REQUEST_TOO_SLOW"');
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

describe('the windows of a body', () => {
  const tenPerSec: Pace = { graceMs: 5_000, windowMs: 1_000, bytesPerSecMin: 10 };
  const wait = (window: PaceWindow, ms: number) => () => window.waited(ms);

  it('allow a slow start, and then require the pace in each window', () => {
    const window = new PaceWindow(tenPerSec);
    expect(wait(window, 5_999)).not.toThrow();
    window.arrived(10);
    expect(wait(window, 1)).not.toThrow();
    expect(window.leftMs).toBe(1_000);
    window.arrived(9);
    expect(wait(window, 999)).not.toThrow();
    expect(wait(window, 1)).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_SLOW' }));
  });

  it('do not count bytes of an earlier window', () => {
    const window = new PaceWindow(tenPerSec);
    window.arrived(1_000_000);
    wait(window, 6_000)();
    expect(wait(window, 1_000)).toThrow('too slowly');
  });

  it('count only the time in which the server waits for the client', () => {
    const window = new PaceWindow(tenPerSec);
    for (let chunk = 0; chunk < 1_000; chunk += 1) {
      window.arrived(1); // the pace would be too slow if time in which the server works were counted
      wait(window, 5)();
    }
  });
});
