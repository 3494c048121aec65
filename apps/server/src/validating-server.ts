/**
 * A server that only validates: `node validating-server.ts`. It has the HTTP of the real one and the description of its enqueue route,
 * and keeps nothing of a message but the count: what a REST enqueue costs before the queue has it. `npm run bench` measures the
 * real route against it. Prints the line of the real server once it serves; ended by SIGTERM.
 */
import { Enqueue, IdempotencyHeaders } from '@shardlab/contract';
import { createHttp } from './create-http.ts';
import { BrowserSessions } from './http/browser-sessions.ts';
import { listeningPort } from './http/listening-port.ts';
import { limits } from './limits.ts';
import { queueParams as params } from './routes/params.ts';

const closing = new AbortController();
const { app } = createHttp({
  logger: false,
  tls: null,
  hidePaths: (value) => value,
  keyCheck: null,
  sessions: new BrowserSessions({ secure: false, nowMs: () => performance.now() }),
  bodyPace: limits.bodyPace,
  closing: closing.signal,
});
let ready = 0;
app.post(
  '/api/queues/:queue/messages',
  { bodyLimit: limits.enqueueBodyBytes, schema: { params, headers: IdempotencyHeaders, body: Enqueue } },
  async (request, reply) => {
    const first = ready;
    ready += request.body.messages.length;
    return reply.code(201).send({ ids: request.body.messages.map((_, index) => `1-1-${first + index}`) });
  },
);
app.get('/api/queues/:queue', { schema: { params } }, async () => ({ ready, held: 0 }));
process.once('SIGTERM', () => {
  closing.abort();
  app.server.closeAllConnections();
  void app.close();
});
await app.listen({ host: '127.0.0.1', port: 0 });
console.log(`shardlab: validating on http://127.0.0.1:${listeningPort(app)}`);
