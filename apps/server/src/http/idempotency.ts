/** Idempotency keys over HTTP: one header of the request, one of the answer. */
import { idempotencyAnswerHeaders } from '@shardlab/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';

/** Undefined without the header, which the route's schema has checked. */
export function readIdempotencyKey({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  return headers['idempotency-key'] as string | undefined;
}

export function markReplayed(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('idempotency-replayed', 'true');
}

/** The response with this schema may have the header of a repeat. */
export function withReplayedHeader<Schema extends TSchema>(schema: Schema): Schema {
  return { ...schema, headers: idempotencyAnswerHeaders };
}
