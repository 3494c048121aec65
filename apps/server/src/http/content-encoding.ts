/**
 * Compression. Answers are compressed for clients that ask for it, in threads of libuv's pool: the event loop goes on. Bodies of
 * requests are taken as they are, so a compressed one is refused by name.
 */
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { App } from './app-types.ts';
import { closeAfter, hasBody } from './body-pace.ts';

/** A third of the time of the default, 6, for hardly more bytes of JSON. */
const options = { level: 3 } as const;
const compress = promisify(gzip) as (text: string | Buffer, how: typeof options) => Promise<Buffer>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Of the dequeue: compressing its answer takes as long as the dequeue itself, payloads are often compressed or encrypted already,
     * and Node's `fetch` asks for it unasked. 53 kB of random bytes in base64 take 1.2 ms and become 39 kB.
     */
    uncompressed?: true;
  }
}

/** Live event streams do not pass here: they write their frames themselves, so that none waits in a compressor. */
export function compressAnswers(app: App): void {
  app.addHook('onSend', async (request, reply, payload: unknown) => {
    if (!isCompressible(request, reply, payload)) return payload;
    reply.header('vary', 'accept-encoding');
    if (negotiate(request.headers['accept-encoding'] ?? '', ['gzip']) !== 'gzip') return payload;
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    if (!(payload instanceof Readable)) return compress(payload as string | Buffer, options);
    // An error of the source ends the answer as it would without compression: its rest is missing.
    return pipeline(payload, createGzip(options), () => undefined);
  });
}

function isCompressible(request: FastifyRequest, reply: FastifyReply, payload: unknown): boolean {
  if (!/^text\/|json|javascript|xml/.test(String(reply.getHeader('content-type')))) return false;
  if (request.routeOptions.config.uncompressed) return false;
  // Streams whose length is known are files, which are stored compressed, and payloads, which are sent as they are.
  if (payload instanceof Readable) return !reply.hasHeader('content-length');
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return false;
  return Buffer.byteLength(payload) >= limits.compressedBytesMin;
}

/** Throws `CONTENT_ENCODING_UNSUPPORTED`. The connection is closed then, because the body is not read. */
export function refuseEncoded({ headers }: FastifyRequest, reply: FastifyReply): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || /^identity$/i.test(encoding) || !hasBody(headers)) return;
  closeAfter(reply);
  reply.header('accept-encoding', 'identity');
  throw new ServerError('CONTENT_ENCODING_UNSUPPORTED', { details: { encoding: encoding.slice(0, 64) } });
}
