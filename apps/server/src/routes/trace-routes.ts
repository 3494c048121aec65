import { MessageTrace, TracedMessages, TraceNext, TracesQuery } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { queueRefusals } from '../http/refusals.ts';
import { messageParams, queueParams as params } from './params.ts';

const tags = ['messages'];

/** The instances' traces of single messages. */
export function traceRoutes(app: App, { cluster }: { cluster: ClusterService }): void {
  app.get(
    '/api/queues/:queue/messages/:message/trace',
    {
      schema: {
        summary:
          'What was recorded of a message, event by event, and why it waits now; of messages that are not traced the latter alone',
        tags,
        params: messageParams,
        response: { 200: MessageTrace, ...queueRefusals },
      },
    },
    async ({ params }) => await cluster.queues.messageTrace(params.queue, params.message),
  );
  app.get(
    '/api/queues/:queue/traces',
    {
      schema: {
        summary: 'The traced messages of a queue that had the latest events, the last first',
        tags,
        params,
        querystring: TracesQuery,
        response: { 200: TracedMessages, ...queueRefusals },
      },
    },
    async ({ params, query: { limit = 20 } }) => ({
      messages: await cluster.queues.tracedMessages(params.queue, { limit }),
    }),
  );
  app.post(
    '/api/queues/:queue/traces',
    {
      schema: {
        summary: 'Trace the next messages that anybody enqueues to the queue',
        tags,
        params,
        body: TraceNext,
        response: { 204: Type.Null(), ...queueRefusals },
      },
    },
    async ({ params, body }, reply) => {
      await cluster.queues.traceNext(params.queue, body.next);
      return reply.code(204).send(null);
    },
  );
}
