import { Conversion, ConversionAnswer, Convert, QueueInfo } from '@shardlab/contract';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { allowNoBody } from '../http/json-body.ts';
import { queueRefusals } from '../http/refusals.ts';
import type { ConversionService } from '../queues/conversion-service.ts';
import { queueParams as params } from './params.ts';

const tags = ['queues'];
const url = '/api/queues/:queue/conversion';

/** Conversion of an unsharded queue to a sharded queue of the same name. */
export function conversionRoutes(
  app: App,
  { cluster, conversions }: { cluster: ClusterService; conversions: ConversionService },
): void {
  app.post(
    url,
    {
      preValidation: allowNoBody,
      schema: {
        summary: 'Convert an unsharded queue to a sharded queue of the same name, or resume the conversion',
        tags,
        params,
        body: Convert,
        response: { 202: Conversion, ...queueRefusals },
      },
    },
    async (request, reply) =>
      reply.code(202).send(await conversions.start(request.params.queue, request.body)),
  );
  app.get(
    url,
    {
      schema: {
        summary: 'The progress of the conversion of a queue; null if there was none',
        tags,
        params,
        response: { 200: ConversionAnswer, ...queueRefusals },
      },
    },
    async (request) => ({ conversion: await conversions.read(request.params.queue) }),
  );
  app.delete(
    url,
    {
      schema: {
        summary: 'Cancel a conversion; the unsharded queue can be used as before',
        tags,
        params,
        response: { 200: QueueInfo, ...queueRefusals },
      },
    },
    async (request) => {
      const { queue } = request.params;
      await conversions.cancel(queue);
      return cluster.queues.queue(queue);
    },
  );
}
