import { Redrive, Redriven } from '@shardlab/contract';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { allowNoBody } from '../http/json-body.ts';
import { queueRefusals } from '../http/refusals.ts';
import { redrive } from '../queues/redrive.ts';
import { queueParams as params } from './params.ts';

/** Moves messages back from an exception queue. */
export function redriveRoutes(app: App, { cluster }: { cluster: ClusterService }): void {
  app.post(
    '/api/queues/:queue/redrive',
    {
      preValidation: allowNoBody,
      schema: {
        summary:
          'Move messages to another queue in one transaction, as from an exception queue back to its queue',
        tags: ['messages'],
        params,
        body: Redrive,
        response: { 200: Redriven, ...queueRefusals },
      },
    },
    async (request) => redrive(cluster, request.params.queue, request.body),
  );
}
