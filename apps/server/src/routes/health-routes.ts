import { Health } from '@shardlab/contract';
import type { Instance } from '@shardlab/engine';
import type { App } from '../http/app-types.ts';

/** Liveness and readiness in one: 503 once the instance no longer serves. */
export function healthRoutes(app: App, { instance, version }: { instance: Instance; version: string }): void {
  app.get(
    '/api/health',
    {
      schema: {
        summary: 'Whether the server serves',
        tags: ['server'],
        response: { 200: Health, 503: Health },
      },
    },
    async (_request, reply) => {
      const serving = isServing(instance);
      return reply.code(serving ? 200 : 503).send({
        status: serving ? 'ok' : 'degraded',
        version,
        uptimeMs: Math.round(process.uptime() * 1000),
        instances: [{ instance: instance.id, state: serving ? 'serving' : 'failed' }],
      });
    },
  );
}

function isServing(instance: Instance): boolean {
  try {
    instance.stats();
    return true;
  } catch {
    return false;
  }
}
