import { CreateQueue, DropQueueQuery, QueueInfo, QueueList, QueueStats, StartStop } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { allowNoBody } from '../http/json-body.ts';
import { queueRefusals, refusals } from '../http/refusals.ts';
import { sumQueueStats } from '../queues/queue-stats.ts';
import { queueParams as params } from './params.ts';

const tags = ['queues'];

export function queueRoutes(app: App, { cluster }: { cluster: ClusterService }): void {
  app.post(
    '/api/queues',
    {
      schema: {
        summary: 'Create a queue',
        tags,
        body: CreateQueue,
        response: { 201: QueueInfo, ...refusals(409, 422) },
      },
    },
    async (request, reply) => {
      const info = await cluster.queues.createQueue(request.body);
      return reply.code(201).header('location', `/api/queues/${info.name}`).send(info);
    },
  );
  app.get(
    '/api/queues',
    { schema: { summary: 'All queues', tags, response: { 200: QueueList } } },
    async () => ({ queues: cluster.hidePaths(await cluster.queues.queues()) }),
  );
  app.get(
    '/api/queues/:queue',
    { schema: { summary: 'One queue', tags, params, response: { 200: QueueInfo, ...queueRefusals } } },
    async (request) => cluster.queues.queue(request.params.queue),
  );
  app.get(
    '/api/queues/:queue/stats',
    {
      schema: {
        summary:
          'Metrics of a queue by instance, shard, subscriber and partition, with rates and the time to drain',
        tags,
        params,
        response: { 200: QueueStats, ...queueRefusals },
      },
    },
    async (request) => sumQueueStats([await cluster.queues.queueStats(request.params.queue)].flat()),
  );
  app.delete(
    '/api/queues/:queue',
    {
      schema: {
        summary: 'Drop a queue with its messages, and its exception queue',
        tags,
        params,
        querystring: DropQueueQuery,
        response: { 204: Type.Null(), ...queueRefusals },
      },
    },
    async (request, reply) => {
      await cluster.queues.dropQueue(request.params.queue, request.query);
      return reply.code(204).send(null);
    },
  );
  for (const action of ['start', 'stop'] as const) {
    app.post(
      `/api/queues/:queue/${action}`,
      {
        // Without a body, the call concerns both enqueue and dequeue.
        preValidation: allowNoBody,
        schema: {
          summary: `${action === 'start' ? 'Start' : 'Stop'} enqueue, dequeue or (without a body) both`,
          tags,
          params,
          body: StartStop,
          response: { 200: QueueInfo, ...queueRefusals },
        },
      },
      async (request) => {
        const { enqueue, dequeue } = request.body;
        const which =
          enqueue === undefined && dequeue === undefined
            ? { enqueue: true, dequeue: true }
            : { enqueue: enqueue ?? false, dequeue: dequeue ?? false };
        const { queue } = request.params;
        return action === 'start'
          ? cluster.queues.startQueue(queue, which)
          : cluster.queues.stopQueue(queue, which);
      },
    );
  }
}
