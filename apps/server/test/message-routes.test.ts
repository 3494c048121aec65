/** What the routes of messages do about clients that leave at the last moment, or do not read their answers. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { ErrorBody } from '@shardlab/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createHttp } from '../src/create-http.ts';
import { BrowserSessions } from '../src/http/browser-sessions.ts';
import { describeRefusals } from '../src/http/refusals.ts';
import { limits } from '../src/limits.ts';
import type { QueueService } from '../src/queues/queue-service.ts';
import { messageRoutes } from '../src/routes/message-routes.ts';
import { expectAnswersAsDescribed } from './check-answers.ts';

/** The routes on a service of which the test gives the calls that it makes. */
function serve(queues: Partial<QueueService>) {
  const closing = new AbortController().signal;
  const { app, admission } = createHttp({
    logger: false,
    tls: null,
    hidePaths: (value) => value,
    keyCheck: null,
    sessions: new BrowserSessions({ secure: false, nowMs: () => 0 }),
    bodyPace: limits.bodyPace,
    closing,
  });
  describeRefusals(app);
  messageRoutes(app, { queues: queues as QueueService, admission, closing });
  onTestFinished(expectAnswersAsDescribed);
  onTestFinished(() => app.close());
  return app;
}

it('a client that leaves in the last step of a dequeue gives its messages back', async () => {
  const nack = vi.fn();
  const answered = Promise.withResolvers<void>();
  const app = serve({
    async dequeue(_queue, _options, signal) {
      client.destroy();
      await once(signal, 'abort');
      setImmediate(answered.resolve);
      return { messages: [], nack };
    },
  });
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(url.port), url.hostname);
  client.write(`POST /api/queues/q/dequeue HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 0\r\n\r\n`);
  await answered.promise;
  expect(nack).toHaveBeenCalledOnce();
});

it('a client that has not read its answers gets no others, until it has', async () => {
  const [read, entered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = serve({
    async browse(_queue, _options, { room } = {}) {
      room!.take((limits.answersBytesMax * 3) / 4);
      entered.resolve();
      await read.promise;
      return { messages: [], next: null };
    },
  });
  const call = (method: 'GET' | 'POST', path: string) =>
    app.inject({ method, url: `/api/queues/q/${path}`, headers: { host: '127.0.0.1' } });
  const unread = call('GET', 'messages');
  await entered.promise;
  for (const refused of [call('GET', 'messages'), call('POST', 'dequeue')]) {
    const answer = await refused;
    const details = { max: limits.answersBytesMax, share: 'client' };
    expect([answer.statusCode, answer.json<ErrorBody>()]).toMatchObject([
      429,
      { code: 'ANSWERS_FULL', details },
    ]);
  }
  read.resolve();
  expect((await unread).statusCode).toBe(200);
  expect((await call('GET', 'messages')).statusCode).toBe(200);
});
