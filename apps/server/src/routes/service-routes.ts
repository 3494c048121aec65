import { CallOfService, ServiceList, ServiceResult } from '@shardlab/contract';
import type { ClusterService } from '../cluster/cluster-service.ts';
import { callService, describeServices } from '../cluster/singleton-services.ts';
import type { App } from '../http/app-types.ts';
import { refusals } from '../http/refusals.ts';
import { addedWhileRunning } from '../http/unsupported.ts';
import { serviceParams as params } from './params.ts';

const tags = ['services'];

/** Singleton services: those that the server is configured with, and calls of them. */
export function serviceRoutes(app: App, { cluster }: { cluster: ClusterService }): void {
  app.get(
    '/api/services',
    {
      schema: {
        summary: 'The singleton services with their holders, and their former holders with times',
        tags,
        response: { 200: ServiceList },
      },
    },
    async () => ({ services: await describeServices(cluster) }),
  );
  app.post('/api/services', { schema: { hide: true } }, async () => {
    throw addedWhileRunning();
  });
  app.post(
    '/api/services/:service/call',
    {
      schema: {
        summary: 'Call a singleton service, wherever it is active; calls of one service run one at a time',
        tags,
        params,
        body: CallOfService,
        response: { 200: ServiceResult, ...refusals(404, 413, 422) },
      },
    },
    async (request) => ({ result: await callService(cluster, request.params.service, request.body) }),
  );
}
