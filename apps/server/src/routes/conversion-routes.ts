import { Conversion, ConversionAnswer, Convert, QueueInfo } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import type { ConversionService } from '../queues/conversion-service.ts';

const tags = ['queues'];
const url = '/api/queues/:queue/conversion';
const params = Type.Object({ queue: Type.String() });

/** From unsharded to sharded, under the same name. */
export function conversionRoutes(
  app: App,
  { cluster, conversions }: { cluster: ClusterService; conversions: ConversionService },
): void {
  app.post(
    url,
    {
      preValidation: async (request) => {
        request.body ??= {};
      },
      schema: {
        summary: 'Convert an unsharded queue to a sharded one of the same name, or go on with that',
        tags,
        params,
        body: Convert,
        response: { 202: Conversion },
      },
    },
    async (request, reply) =>
      reply.code(202).send(await conversions.start(request.params.queue, request.body)),
  );
  app.get(
    url,
    {
      schema: {
        summary: 'How far the conversion of a queue is, or when it was done; null if there was none',
        tags,
        params,
        response: { 200: ConversionAnswer },
      },
    },
    async (request) => ({ conversion: await conversions.read(request.params.queue) }),
  );
  app.delete(
    url,
    {
      schema: {
        summary: 'Cancel a conversion: the unsharded queue goes on as it was',
        tags,
        params,
        response: { 200: QueueInfo },
      },
    },
    async (request) => {
      const { queue } = request.params;
      await conversions.cancel(queue);
      return cluster.queues.queue(queue);
    },
  );
}
