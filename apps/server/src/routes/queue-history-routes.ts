import { QueueHistories as Histories, HistoryQuery, QueueHistory } from '@shardlab/contract';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { refusals } from '../http/refusals.ts';
import type { QueueHistories } from '../queues/queue-histories.ts';
import { queueParams as params } from './params.ts';

const tags = ['queues'];

/** Depths and rates of the queues in the last minutes, hour or day. */
export function queueHistoryRoutes(
  app: App,
  { cluster, histories }: { cluster: ClusterService; histories: QueueHistories },
): void {
  app.get(
    '/api/queue-histories',
    {
      schema: {
        summary: 'Depth, rates, latency and lag of all queues, sampled while the server ran',
        tags,
        querystring: HistoryQuery,
        response: { 200: Histories },
      },
    },
    async ({ query }) => ({ queues: histories.all(query.range ?? '10m') }),
  );
  app.get(
    '/api/queues/:queue/history',
    {
      schema: {
        summary: 'Depth, rates, latency and lag of a queue, sampled while the server ran',
        tags,
        params,
        querystring: HistoryQuery,
        response: { 200: QueueHistory, ...refusals(404) },
      },
    },
    async ({ params, query }) => {
      const { name } = await cluster.queues.queue(params.queue);
      return histories.history(name, query.range ?? '10m');
    },
  );
}
