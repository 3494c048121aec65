/** Limits how long a client may take to send a body. Node's own limit cannot distinguish a small body from a gigabyte. */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ServerError } from '../errors.ts';
import type { App } from './app-types.ts';

/** Config of routes that read a body chunk by chunk; the limit then applies to each chunk (`chunksWithinTime`). */
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

/** The chunks of a request body. Throws `REQUEST_TIMEOUT` if the next chunk takes longer than `ms`. */
export async function* chunksWithinTime(body: IncomingMessage, ms: number): AsyncGenerator<Buffer> {
  // A destroyed request could not be answered any more.
  const chunks = body.iterator({ destroyOnReturn: false });
  for (;;) {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new ServerError('REQUEST_TIMEOUT')), ms);
    try {
      const { value, done } = await Promise.race([chunks.next(), timeout]);
      if (done) return;
      yield value as Buffer;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Closes the connection after the response: if a body was not read to its end, no other request can use it. */
export function closeAfter(reply: FastifyReply): void {
  reply.header('connection', 'close');
}
