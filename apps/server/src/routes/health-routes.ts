import { Health } from '@shardlab/contract';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';

/** Liveness and readiness in one: 503 if no instance is served. */
export function healthRoutes(
  app: App,
  { cluster, version }: { cluster: ClusterService; version: string },
): void {
  app.get(
    '/api/health',
    {
      schema: {
        summary: 'Health of the server and its instances',
        tags: ['server'],
        response: { 200: Health, 503: Health },
      },
    },
    async (_request, reply) => {
      const instances = cluster.topology().map(({ instance, state }) => ({
        instance,
        state: state === 'down' ? ('failed' as const) : ('serving' as const),
      }));
      const serving = instances.filter(({ state }) => state === 'serving').length;
      return reply.code(serving > 0 ? 200 : 503).send({
        status: serving > 0 && serving === instances.length ? 'ok' : 'degraded',
        version,
        uptimeMs: Math.round(process.uptime() * 1000),
        instances,
      });
    },
  );
}
