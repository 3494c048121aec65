import { StoreInfo } from '@shardlab/contract';
import { type StoreFeature, storeFeatures } from '@shardlab/engine';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';

/** The store of the queues and its capabilities. */
export function storeRoutes(app: App, { cluster }: { cluster: ClusterService }): void {
  app.get(
    '/api/store',
    {
      schema: {
        summary: 'Where the queues are stored, and what that store promises feature by feature',
        tags: ['queues'],
        response: { 200: StoreInfo },
      },
    },
    async () => {
      const { store, servers, capabilities } = cluster.store;
      const features = (Object.keys(storeFeatures) as StoreFeature[]).map((feature) => {
        const { support, note = null } = capabilities[feature];
        return { feature, about: storeFeatures[feature], support, note };
      });
      return { store, servers, features };
    },
  );
}
