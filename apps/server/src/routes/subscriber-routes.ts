import { Subscribe, SubscriberInfo, SubscriberList } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { queueRefusals } from '../http/refusals.ts';
import { queueParams as params, subscriberParams } from './params.ts';

const tags = ['subscribers'];
const url = '/api/queues/:queue/subscribers';

/** The subscribers of a topic. */
export function subscriberRoutes(app: App, { cluster }: { cluster: ClusterService }): void {
  app.post(
    url,
    {
      schema: {
        summary: 'Subscribe to a topic from now on; repeating the call changes nothing',
        tags,
        params,
        body: Subscribe,
        response: { 201: SubscriberInfo, ...queueRefusals },
      },
    },
    async (request, reply) => {
      const { queue } = request.params;
      const info = await cluster.queues.subscribe(queue, request.body);
      const place = [queue, info.name].map(encodeURIComponent);
      return reply
        .code(201)
        .header('location', `/api/queues/${place.join('/subscribers/')}`)
        .send(info);
    },
  );
  app.get(
    url,
    {
      schema: {
        summary: 'Subscribers of a topic',
        tags,
        params,
        response: { 200: SubscriberList, ...queueRefusals },
      },
    },
    async (request) => ({ subscribers: await cluster.queues.subscribers(request.params.queue) }),
  );
  app.delete(
    `${url}/:subscriber`,
    {
      schema: {
        summary: 'Remove a subscriber and the messages it has not consumed',
        tags,
        params: subscriberParams,
        response: { 204: Type.Null(), ...queueRefusals },
      },
    },
    async (request, reply) => {
      await cluster.queues.unsubscribe(request.params.queue, request.params.subscriber);
      return reply.code(204).send(null);
    },
  );
}
