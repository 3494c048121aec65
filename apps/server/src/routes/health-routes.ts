import { Health, Liveness } from '@shardlab/contract';
import Type from 'typebox';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import { errorReference } from '../http/refusals.ts';

const tags = ['server'];

/** Readiness from a commit on every instance, and liveness: the server answers. */
export function healthRoutes(
  app: App,
  { cluster, version }: { cluster: ClusterService; version: string },
): void {
  const uptimeMs = () => Math.round(process.uptime() * 1000);
  const response = { 200: Health, 503: Type.Union([Health, Type.Ref(errorReference.$ref)]) };

  async function readHealth(): Promise<Health> {
    const [probes, damage] = await Promise.all([cluster.probe(), cluster.damage()]);
    const instances = probes.map(({ instance, failure }) => ({
      instance,
      state: failure === null ? ('serving' as const) : ('failed' as const),
      reason: failure,
      damage: damage.get(instance) ?? [],
    }));
    const serving = instances.filter(({ state }) => state === 'serving').length;
    const isDegraded = serving < instances.length || instances.some((each) => each.damage.length > 0);
    const some = isDegraded ? 'degraded' : 'ok';
    return { status: serving === 0 ? 'failed' : some, version, uptimeMs: uptimeMs(), instances };
  }

  for (const { url, summary } of [
    { url: '/api/health', summary: 'Health of the server and its instances, from a commit on each' },
    { url: '/api/health/ready', summary: 'Readiness: the same answer, 503 if no instance can commit' },
  ]) {
    app.get(url, { schema: { summary, tags, response } }, async (_request, reply) => {
      const health = await readHealth();
      return reply.code(health.status === 'failed' ? 503 : 200).send(health);
    });
  }

  app.get(
    '/api/health/live',
    { schema: { summary: 'Liveness: the server answers', tags, response: { 200: Liveness } } },
    async () => ({ status: 'ok' as const, version, uptimeMs: uptimeMs() }),
  );
}
