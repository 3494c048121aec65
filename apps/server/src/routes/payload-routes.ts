/** Streamed payloads: uploaded as a request body, downloaded as a response body, never in memory as a whole. */
import { finished } from 'node:stream';
import { Enqueued, EnqueueStreamQuery, IdempotencyHeaders, PayloadQuery } from '@shardlab/contract';
import { QueueError } from '@shardlab/engine';
import Type from 'typebox';
import { ServerError } from '../errors.ts';
import type { Admission } from '../http/admission.ts';
import type { App } from '../http/app-types.ts';
import { chunksAtPace, closeAfter, type Pace, streamedBody } from '../http/body-pace.ts';
import { markReplayed, readIdempotencyKey, withReplayedHeader } from '../http/idempotency.ts';
import { contentOf, queueRefusals } from '../http/refusals.ts';
import { validateRequest } from '../http/validation.ts';
import { contentTypeOf, streamedFromWire } from '../queues/message-codec.ts';
import type { QueueService } from '../queues/queue-service.ts';
import { queueParams as params } from './params.ts';

const tags = ['messages'];
const bytes = Type.String({ format: 'binary' });

export interface PayloadRoutesOptions {
  queues: QueueService;
  admission: Admission;
  bodyPace: Pace;
}

export async function payloadRoutes(app: App, options: PayloadRoutesOptions): Promise<void> {
  // A separate scope, because only here a body is raw bytes, whatever its content type.
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    uploadRoute(scope as unknown as App, options);
  });
  downloadRoute(app, options);
}

function uploadRoute(app: App, { queues, admission, bodyPace }: PayloadRoutesOptions): void {
  app.post(
    '/api/queues/:queue/messages/stream',
    {
      config: streamedBody,
      // The body schema only documents the route: bytes that have not arrived yet cannot be validated.
      validatorCompiler: (part) => (part.httpPart === 'body' ? () => true : validateRequest(part)),
      schema: {
        summary:
          'Enqueue one message whose payload is the body, up to 1 GiB. An interrupted upload leaves nothing behind',
        body: { content: { 'application/octet-stream': { schema: bytes } } },
        tags,
        params,
        querystring: EnqueueStreamQuery,
        headers: IdempotencyHeaders,
        response: { 201: withReplayedHeader(Enqueued), ...queueRefusals },
      },
    },
    async (request, reply) => {
      const contentLength = request.headers['content-length'];
      try {
        admission.upload(request.params.queue, reply);
        const { ids, replayed } = await queues.enqueueStream(request.params.queue, {
          ...streamedFromWire(request.query),
          payload: chunksAtPace(request.raw, bodyPace),
          ...(contentLength === undefined ? {} : { bytes: Number(contentLength) }),
          idempotencyKey: readIdempotencyKey(request),
        });
        markReplayed(reply, replayed);
        return await reply.code(201).send({ ids });
      } catch (error) {
        closeAfter(reply);
        throw error instanceof QueueError && error.cause instanceof ServerError ? error.cause : error;
      }
    },
  );
}

function downloadRoute(app: App, { queues, admission }: PayloadRoutesOptions): void {
  app.get(
    '/api/queues/:queue/payload',
    {
      exposeHeadRoute: false, // HEAD would open a payload that it does not send
      schema: {
        summary:
          'The payload of a held message as bytes. Reading it consumes nothing: acknowledge the receipt afterwards',
        tags,
        params,
        querystring: PayloadQuery,
        response: {
          200: contentOf({ 'application/octet-stream': bytes, 'application/json': Type.Unknown() }),
          ...queueRefusals,
        },
      },
    },
    async (request, reply) => {
      const { queue } = request.params;
      admission.download(queue, reply);
      const { message, end } = await queues.download(queue, request.query.receipt);
      // Not awaited before the answer: what was handed to the socket says nothing about what the client has read.
      finished(reply.raw, () => {
        end().catch((error: unknown) => request.log.error({ err: error }, 'a download could not be ended'));
      });
      return reply
        .header('content-length', message.payloadBytes)
        .type(contentTypeOf(message))
        .send(message.payloadStream() as never); // its type in the API description is string
    },
  );
}
