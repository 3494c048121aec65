import {
  Browsed,
  BrowseQuery,
  Dequeue,
  Dequeued,
  Enqueue,
  Enqueued,
  Extend,
  IdempotencyHeaders,
  Nack,
  Receipts,
} from '@shardlab/contract';
import type { FastifyReply, FastifySerializerCompiler } from 'fastify';
import Type from 'typebox';
import type { Admission } from '../http/admission.ts';
import type { App } from '../http/app-types.ts';
import { askByInterim, askWhenHalfClosed } from '../http/half-closed.ts';
import { markReplayed, readIdempotencyKey, withReplayedHeader } from '../http/idempotency.ts';
import { allowNoBody } from '../http/json-body.ts';
import { queueRefusals } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import { stringifyMessages } from '../queues/message-codec.ts';
import type { QueueService } from '../queues/queue-service.ts';
import { queueParams as params } from './params.ts';

const tags = ['messages'];
/** Serializer for routes that answer with messages, or with an error. */
const serializerCompiler = (({ httpStatus }) =>
  httpStatus === '200' ? stringifyMessages : JSON.stringify) as FastifySerializerCompiler<unknown>;

export interface MessageRoutesOptions {
  queues: QueueService;
  admission: Admission;
  /** Aborted when the server shuts down: waiting calls return what they have. */
  closing: AbortSignal;
}

export function messageRoutes(app: App, { queues, admission, closing }: MessageRoutesOptions): void {
  app.post(
    '/api/queues/:queue/messages',
    {
      bodyLimit: limits.enqueueBodyBytes,
      schema: {
        summary:
          'Enqueue messages, all or none; responds once they are committed with the durability of the queue',
        tags,
        params,
        headers: IdempotencyHeaders,
        body: Enqueue,
        response: { 201: withReplayedHeader(Enqueued), ...queueRefusals },
      },
    },
    async (request, reply) => {
      const { socket } = request.raw;
      const { queue } = request.params;
      const key = readIdempotencyKey(request);
      const { ids, replayed } = await queues.enqueue(socket, queue, request.body.messages, key);
      markReplayed(reply, replayed);
      return reply.code(201).send({ ids });
    },
  );
  app.get(
    '/api/queues/:queue/messages',
    {
      serializerCompiler,
      schema: {
        summary: 'Browse committed messages, unconsumed or processed, without holding or consuming them',
        tags,
        params,
        querystring: BrowseQuery,
        response: { 200: Browsed, ...queueRefusals },
      },
    },
    async (request, reply) => {
      const room = admission.answer(reply);
      const signal = AbortSignal.any([closing, goneSignal(reply)]);
      return queues.browse(request.params.queue, request.query, { signal, room });
    },
  );
  app.post(
    '/api/queues/:queue/dequeue',
    {
      config: { uncompressed: true },
      preValidation: allowNoBody,
      serializerCompiler,
      schema: {
        summary:
          'Dequeue messages, waiting up to waitMs. In the default mode, manual, they are held until ack, nack or the end of holdMs',
        tags,
        params,
        body: Dequeue,
        response: { 200: Dequeued, ...queueRefusals },
      },
    },
    async (request, reply) => {
      const room = admission.dequeue(request.params.queue, reply);
      const gone = goneSignal(reply, (request.body.waitMs ?? 0) > 0);
      const signal = AbortSignal.any([closing, gone]);
      const { messages, nack } = await queues.dequeue(request.params.queue, request.body, signal, room);
      // The client may have gone in the last step of the dequeue, and an aborted signal calls no new listeners.
      if (gone.aborted) nack();
      else gone.addEventListener('abort', nack, { once: true });
      return { messages };
    },
  );
  app.post(
    '/api/queues/:queue/ack',
    {
      schema: {
        summary: 'Acknowledge messages: they are consumed. A stale receipt changes nothing',
        tags,
        params,
        body: Receipts,
        response: { 204: Type.Null(), ...queueRefusals },
      },
    },
    async (request, reply) => {
      await queues.acknowledge(request.params.queue, request.body.receipts);
      return reply.code(204).send(null);
    },
  );
  app.post(
    '/api/queues/:queue/nack',
    {
      schema: {
        summary:
          'Return held messages to the queue, at once or after a delay; those whose attempts are used up, or that are rejected, move to the exception queue. A stale receipt changes nothing',
        tags,
        params,
        body: Nack,
        response: { 204: Type.Null(), ...queueRefusals },
      },
    },
    async (request, reply) => {
      const { receipts, ...how } = request.body;
      await queues.release(request.params.queue, receipts, how);
      return reply.code(204).send(null);
    },
  );
  app.post(
    '/api/queues/:queue/extend',
    {
      schema: {
        summary: 'Extend the holds of messages: holdMs starts again. A stale receipt changes nothing',
        tags,
        params,
        body: Extend,
        response: { 204: Type.Null(), ...queueRefusals },
      },
    },
    async (request, reply) => {
      const { receipts, holdMs } = request.body;
      await queues.extend(request.params.queue, receipts, holdMs);
      return reply.code(204).send(null);
    },
  );
}

/**
 * Aborted when the client disconnects before the whole response was handed to the operating system. `waits`: the answer may take
 * long.
 */
function goneSignal(reply: FastifyReply, waits = false): AbortSignal {
  const gone = new AbortController();
  askWhenHalfClosed(reply, waits, () => askByInterim(reply, waits));
  if (reply.raw.destroyed) gone.abort();
  let sent = false;
  reply.raw.once('finish', () => {
    sent = true;
  });
  reply.raw.once('close', () => {
    if (!sent) gone.abort();
  });
  return gone.signal;
}
