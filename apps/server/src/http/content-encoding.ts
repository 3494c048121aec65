/** Bodies of requests are taken as they are: `Content-Encoding` is not understood, so a compressed body is refused by name. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServerError } from '../errors.ts';
import { closeAfter, hasBody } from './body-pace.ts';

/** Throws `CONTENT_ENCODING_UNSUPPORTED`. The connection is closed then, because the body is not read. */
export function refuseEncoded({ headers }: FastifyRequest, reply: FastifyReply): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || /^identity$/i.test(encoding) || !hasBody(headers)) return;
  closeAfter(reply);
  reply.header('accept-encoding', 'identity');
  throw new ServerError('CONTENT_ENCODING_UNSUPPORTED', { details: { encoding: encoding.slice(0, 64) } });
}
