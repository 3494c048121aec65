/** How long a client may take to send a body. Node's own bound knows no difference between a small body and a gigabyte. */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from './app-types.ts';

/** Routes with this in their config take a body piece by piece, each in time (`piecesInTime`). */
export const streamedBody = { streamedBody: true } as const;

export function limitBodyTime(app: App, ms: number): void {
  app.addHook('preParsing', async (request, reply, body) => {
    if ((request.routeOptions.config as Partial<typeof streamedBody>).streamedBody) return body;
    const timer = setTimeout(() => {
      closeAfter(reply);
      void reply.send(new ServerError('REQUEST_TIMEOUT'));
    }, ms);
    for (const event of ['end', 'close', 'error']) body.once(event, () => clearTimeout(timer));
    return body;
  });
}

/** The body of a request. A piece that takes longer fails it with `REQUEST_TIMEOUT`. */
export async function* piecesInTime(body: IncomingMessage, ms: number): AsyncGenerator<Buffer> {
  // Destroyed, it could not be answered any more.
  const pieces = body.iterator({ destroyOnReturn: false });
  for (;;) {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new ServerError('REQUEST_TIMEOUT')), ms);
    try {
      const { value, done } = await Promise.race([pieces.next(), late]);
      if (done) return;
      yield value as Buffer;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A body that is not taken to its end leaves the connection of no use to another request. */
export function closeAfter(reply: FastifyReply): void {
  reply.header('connection', 'close');
}
